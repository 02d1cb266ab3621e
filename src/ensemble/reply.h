/*
 * Whether what a server sends is whole: lengths, counts and order, before the client library takes
 * it apart.  The library believes them: it frees what it has not read when a reply is too short,
 * and ends the process when one comes that nobody asked for.
 */
#ifndef ZKFLOCK_REPLY_H
#define ZKFLOCK_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest frame that is taken, in bytes, without its length: a list of a million znodes. */
#define REPLY_MAX ((size_t)64 * 1024 * 1024)

/* A request that waits for its reply. */
struct reply_due {
    int32_t xid;
    int32_t type; /* ZooKeeper's number of the operation */
};

/* Returns whether this is the answer to the first request of a connection; without the length. */
bool reply_is_connect(const unsigned char *frame, size_t len);

/*
 * Returns whether this can be taken: a reply to the oldest request that waits, which is NULL if
 * none does, or what comes unasked.  Then *taken says whether that request waits no more.
 */
bool reply_is_sound(const unsigned char *frame, size_t len, const struct reply_due *oldest,
                    bool *taken);

#endif
