#include "lock/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RECORD_FORMAT "zkflock/1 base=%" PRIu32 " lease=%" PRId64 "ms"
#define RECORD_PERMITS " permits=%" PRId32

/* A lease beyond a day is no lease: it would be waited out after every crash. */
#define RECORD_LEASE_MAX INT64_C(86400000)

/* No --lease is shorter, nor could a proof be fresh. */
#define RECORD_LEASE_MIN INT64_C(1000)

size_t record_encode(const struct record *record, char text[RECORD_SIZE])
{
    int len = snprintf(text, RECORD_SIZE, RECORD_FORMAT, record->base, record->lease_ms);

    if (record->permits)
        len += snprintf(text + len, RECORD_SIZE - (size_t)len, RECORD_PERMITS, record->permits);
    text[len++] = '\n';
    text[len] = '\0';
    return (size_t)len;
}

bool record_decode(const char *text, size_t len, struct record *record)
{
    char copy[RECORD_SIZE];
    char again[RECORD_SIZE];
    struct record read = {0};

    if (len == 0 || len >= RECORD_SIZE)
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    /* What does not fit a number is found out below.  NOLINTNEXTLINE(cert-err34-c) */
    if (sscanf(copy, RECORD_FORMAT RECORD_PERMITS, &read.base, &read.lease_ms, &read.permits) < 2 ||
        read.lease_ms < RECORD_LEASE_MIN || read.lease_ms > RECORD_LEASE_MAX || read.permits < 0)
        return false;
    /* sscanf takes blanks and signs that a record never has: it must be the same to the byte. */
    if (record_encode(&read, again) != len || memcmp(again, text, len) != 0)
        return false;
    *record = read;
    return true;
}
