/*
 * The inside of a removal, shared by the files that make it up:
 *
 *     remove.c         takes the lock, removes
 *     remove_parts.c   reads what is removed with the lock: the leases of a semaphore, the note,
 *                      and the count of a lock that it is in; refuses what must stay
 */
#ifndef ZKFLOCK_REMOVE_STATE_H
#define ZKFLOCK_REMOVE_STATE_H

#include "list/admin.h"
#include "lock/lock.h"
#include "lock/outlook.h"
#include "lock/record.h"

/* What is read beside what the lock reads: of all but the last one children, then of all data. */
enum {
    PART_LOCK,
    PART_LOCKS, /* a semaphore's two znodes */
    PART_LEASES,
    PARTS_HELD, /* a client may have held those above */
    PART_NOTE = PARTS_HELD,
    PART_ABOVE, /* the znode that the lock is in, perhaps a lock too */
    PARTS
};

/* The tags of the requests for them: lists and data. */
enum { PART_TAGS = 2 * PARTS };

/* A znode, as last read. */
struct part {
    char *path;
    int list_rc; /* of its children */
    int rc;      /* of its data */
    struct Stat stat;
    bool has_record;
    struct record record;
    size_t strangers; /* children that are neither contenders nor parts of a semaphore */
    char *stranger;   /* the first of them */
};

struct removal {
    const struct options *options;
    struct admin admin;
    int64_t wait_until; /* for others, and for vanished holders */
    int status;         /* to exit with, once something went wrong */

    bool semaphore;    /* known once all was read */
    struct lock *lock; /* NULL: not joined yet */
    struct outlook *outlook;

    struct part parts[PARTS];
    unsigned int pending;
    bool unanswered;
    size_t contenders; /* among the children of the lock */
    bool has_locks;    /* the lock has children with the names of a semaphore's two */
    bool has_leases;
    bool is_note; /* the znode with the note's name is one */

    struct lock_znode others[LOCK_OTHERS_MAX]; /* to be removed with the lock */
    size_t others_len;
    char record_above[RECORD_SIZE]; /* which some of them set */
};

/* ---- remove_parts.c; each bool is whether to go on ---- */

/* Sets the status; returns false. */
bool remove_stop(struct removal *removal, int status);

/* Waits until the deadline for one event, and takes it. */
bool remove_pump(struct removal *removal, int64_t deadline);

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
