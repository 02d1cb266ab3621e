/*
 * A lock at one moment: its holders, and its waiters in the order in which they will be served.
 * Made of its znodes, which survey.h reads.  No input or output.
 */
#ifndef ZKFLOCK_VIEW_H
#define ZKFLOCK_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/contender.h"
#include "lock/recipe.h"

enum view_state {
    VIEW_FREE,
    VIEW_HELD,
    VIEW_SETTLING, /* not held; the first contender waits for a holder that vanished, or will */
};

struct view_contender {
    char *path;   /* of the znode */
    bool read;    /* the fields below are known, not only the name */
    int rc;       /* else why not, see fault.h */
    bool pending; /* not read yet; it may be refused, too */
    struct contender told;
    int64_t session; /* 0: none owns the znode, which then tells of no contender */
    int64_t czxid;
    int64_t ctime_ms; /* by the ensemble's clock, since 1970 */
    int64_t mtime_ms;

    /* set by view_make() */
    bool holds;
    enum contender_kind kind;
    int64_t since_ms; /* holder or waiter since then, by the ensemble's clock; 0: unknown */
    int64_t until_ms; /* waits for a vanished holder until then; 0: it does not */
};

/* Returns the contender's name: the last part of its path.  Not clean, see text.h. */
const char *view_name(const struct view_contender *contender);

struct view {
    char *path;
    bool exists;
    char *unread;  /* a znode of it that could not be read: nothing else is known; or NULL */
    int unread_rc; /* why, see fault.h */
    bool is_lock;  /* it is or was a lock; false if it does not exist */
    bool used;     /* it has had children that left */

    enum view_state state;
    enum contender_kind kind; /* of the holders; of a free lock, as far as is known */
    bool kind_known;
    int32_t permits;    /* of a semaphore; 0: no semaphore, or unknown */
    int64_t lease_ms;   /* 0: zkflock neither made nor adopted it */
    int64_t success_ms; /* when the last run that succeeded with --once-per began; 0: unknown */
    uint32_t vanished;  /* holders that vanished and were not waited for yet */
    int64_t until_ms;   /* VIEW_SETTLING: until when, 0 if that is unknown; else 0 */

    struct view_contender *contenders; /* holders come first */
    size_t len;
    size_t holders;
};

/* What was read of a znode with contenders: a lock's, or one of the two of a semaphore. */
struct view_source {
    const char *data;
    size_t data_len;
    struct recipe_census census;
    int64_t pzxid;                     /* the last change to the children */
    struct view_contender *contenders; /* in any order; view_make() takes them and the array */
    size_t len;
};

/*
 * Makes the view of the lock at path, which exists and can be read.  For a semaphore, lock is what
 * was read of its leases, and queue of the lock under which they are taken; else queue is NULL.
 * Takes their contenders.  To be given to view_release().
 */
void view_make(struct view *view, const char *path, struct view_source *lock,
               struct view_source *queue);

/*
 * Moves holders before contenders that wait for a vanished holder, which may stand among them, and
 * counts them.
 */
void view_sort_holders(struct view *view);

/*
 * Returns whether the next holder waits for a lease if so many more vanish.  A semaphore may have
 * permits left beside those of vanished holders.
 */
bool view_next_waits(const struct view *view, uint32_t more);

/* Returns whether vanished holders are known: of a lock that only other clients have used nobody
 * counts them. */
bool view_knows_vanished(const struct view *view);

void view_release(struct view *view);

#endif
