/*
 * The record: what the data of a lock's znode says, one line of text.
 *
 * It is written once, by whoever makes the znode, and every later set writes the same bytes back:
 * the sets only count departures.  That makes the lease a property of the lock, the same for all.
 */
#ifndef ZKFLOCK_RECORD_H
#define ZKFLOCK_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_SIZE 64

struct record {
    uint32_t base;    /* departures that are not to be counted, see recipe_vanished() */
    int64_t lease_ms; /* L */
    int32_t permits;  /* how many may hold it, for the leases of a semaphore; else 0 */
};

/* Writes the record's text; returns its length, which is below RECORD_SIZE. */
size_t record_encode(const struct record *record, char text[RECORD_SIZE]);

/* Reads len bytes of anybody's making; returns whether they are a record of this version. */
bool record_decode(const char *text, size_t len, struct record *record);

#endif
