/*
 * The inside of a removal, shared by the files that make it up:
 *
 *     remove.c         takes the lock, removes
 *     remove_parts.c   what goes with the lock: the leases of a semaphore, the note, and the count
 *                      of a lock that it is in; what may not go
 *     remove_read.c    all of that, as it was read last
 */
#ifndef ZKFLOCK_REMOVE_STATE_H
#define ZKFLOCK_REMOVE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "list/admin.h"
#include "lock/lock.h"
#include "lock/outlook.h"
#include "lock/record.h"

/* What is asked beside what the lock asks: children, then data. */
enum part {
    PART_CHILDREN, /* of the lock */
    PART_QUEUED,   /* of a semaphore's two */
    PART_LEASED,
    PART_NOTED, /* of the note */
    PART_LISTS,
    PART_NOTE = PART_LISTS,
    PART_ABOVE,
    PART_LOCK,
    PART_LEASES,
    PART_LOCKS,
    PART_COUNT
};

/* Children that are no contenders, and no part of a semaphore. */
struct strangers {
    size_t count;
    char *first;
};

struct removal {
    const struct options *options;
    struct admin admin;
    int64_t wait_until; /* for others, and for those that vanished */
    int status;         /* to exit with, once something went wrong */

    bool semaphore;    /* known once all was read */
    const char *queue; /* the lock to be held: the lock itself, or the one of a semaphore */
    char *locks;       /* of a semaphore, like */
    char *leases;      /* these */
    char *note;
    char *above;       /* the znode that it is in, a lock too perhaps */
    struct lock *lock; /* NULL: not joined yet */
    struct outlook *outlook;

    /* the parts, as last read */
    unsigned int pending;
    bool unanswered;
    int rc[PART_COUNT];
    struct Stat stat[PART_COUNT];
    size_t contenders; /* children of the lock that are some */
    struct strangers strangers[PART_LISTS];
    bool has_locks; /* children of the lock that are called like the parts of a semaphore */
    bool has_leases;
    bool is_note; /* what stands where a note would */
    bool has_record[PART_COUNT];
    struct record record[PART_COUNT];
    char record_above[RECORD_SIZE]; /* empty: there is none */

    struct lock_znode others[LOCK_OTHERS_MAX]; /* to be removed with the lock */
    size_t others_len;
};

/* ---- remove_read.c; each that returns a bool returns whether to go on ---- */

/* Sets the status and returns false. */
bool remove_stop(struct removal *removal, int status);

/* Takes what comes until the deadline. */
bool remove_pump(struct removal *removal, int64_t deadline);

/* Reads all parts anew. */
bool remove_read(struct removal *removal);

const char *remove_path_of(const struct removal *removal, enum part part);

/* ---- remove_parts.c; the same ---- */

/* Stops after saying why; who: the first of the others, NULL: whom the outlook knows of. */
bool remove_refuse_used(struct removal *removal, size_t others, const char *who);
bool remove_refuse_unsettled(struct removal *removal, bool vanished, int64_t lease);

/* Reads all parts; refuses a lock with others below it, or below what goes with it. */
bool remove_check_nested(struct removal *removal);

/*
 * With the lock held: finds what goes with it, and refuses what may not go.  Called again where
 * that has changed meanwhile.
 */
bool remove_gather(struct removal *removal);

/* Whether there is a note among these. */
bool remove_has_note(const struct removal *removal);

#endif
