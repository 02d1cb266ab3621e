/*
 * The inside of a removal, shared by the files that make it up:
 *
 *     remove.c         takes the lock, removes
 *     remove_parts.c   finds what is removed with the lock: the leases of a semaphore, the note,
 *                      and the count of a lock that it is in; refuses what must stay
 *     remove_read.c    reads all of that
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

/* What is read beside what the lock reads: children, then data. */
enum part {
    PART_CHILDREN, /* children of the lock */
    PART_QUEUED,   /* of a semaphore's two znodes */
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

/* Children that are neither contenders nor parts of a semaphore. */
struct strangers {
    size_t count;
    char *first;
};

struct removal {
    const struct options *options;
    struct admin admin;
    int64_t wait_until; /* for others, and for vanished holders */
    int status;         /* to exit with, once something went wrong */

    bool semaphore;    /* known once all was read */
    const char *queue; /* the lock to be held: the lock itself, or the one of a semaphore */
    char *locks;       /* the two znodes of a semaphore */
    char *leases;
    char *note;
    char *above;       /* the znode that the lock is in, perhaps a lock too */
    struct lock *lock; /* NULL: not joined yet */
    struct outlook *outlook;

    /* the parts, as last read */
    const char *path[PART_COUNT];
    unsigned int pending;
    bool unanswered;
    int rc[PART_COUNT];
    struct Stat stat[PART_COUNT];
    size_t contenders; /* among the children of the lock */
    struct strangers strangers[PART_LISTS];
    bool has_locks; /* the lock has children with the names of a semaphore's two */
    bool has_leases;
    bool is_note; /* the znode with the note's name is one */
    bool has_record[PART_COUNT];
    struct record record[PART_COUNT];
    char record_above[RECORD_SIZE]; /* ""; of a lock, its record */

    struct lock_znode others[LOCK_OTHERS_MAX]; /* to be removed with the lock */
    size_t others_len;
};

/* ---- remove_read.c; each bool is whether to go on ---- */

/* Sets the status; returns false. */
bool remove_stop(struct removal *removal, int status);

/* Waits until the deadline for one event, and takes it. */
bool remove_pump(struct removal *removal, int64_t deadline);

/* Reads all parts anew. */
bool remove_read(struct removal *removal);

/* ---- remove_parts.c; the same ---- */

/* Each stops after a message.  who: the first of the others; NULL: ask the outlook. */
bool remove_refuse_used(struct removal *removal, size_t others, const char *who);
bool remove_refuse_unsettled(struct removal *removal, bool vanished, int64_t lease);

/* Reads all parts; refuses a lock that has locks below it, or below what is removed with it. */
bool remove_check_nested(struct removal *removal);

/*
 * With the lock held: finds what is to be removed with it, and refuses what must stay.  To be
 * called again if that has changed.
 */
bool remove_gather(struct removal *removal);

/* Returns true if a note is removed with the lock. */
bool remove_has_note(const struct removal *removal);

#endif
