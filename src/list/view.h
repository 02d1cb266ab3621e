/*
 * A lock as it stands: who holds it, who waits, in the order in which they are served.  Made from
 * what was read of its znodes; see survey.h for the reading.  No input or output.
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
    VIEW_SETTLING, /* nobody holds it, and the first one waits for a holder that vanished, or will
                    */
};

struct view_contender {
    char *path;   /* of the znode */
    bool read;    /* what follows is known, and not just the name */
    int rc;       /* why not, as fault.h has it */
    bool pending; /* nor is it known yet whether that may be read */
    struct contender told;
    int64_t session;
    int64_t czxid;
    int64_t ctime_ms; /* by the ensemble's clock, since 1970 */
    int64_t mtime_ms;

    /* view_make() finds out the rest */
    bool holds;
    enum contender_kind kind;
    int64_t since_ms; /* holds it or waits for it since then, by the ensemble's clock; 0: unknown */
    int64_t until_ms; /* it waits for a vanished holder until then; 0: it does not */
};

/* The contender's name: the last part of its path, of anybody's making. */
const char *view_name(const struct view_contender *contender);

struct view {
    char *path;
    bool exists;
    char *unread; /* a znode of it that could not be read, so that nothing else is known; or NULL */
    int unread_rc; /* why, as fault.h has it */
    bool is_lock;  /* it has been a lock, or is one; what does not exist is none */

    enum view_state state;
    enum contender_kind kind; /* of the holders; while it is free, of the lock as far as is known */
    bool kind_known;
    int32_t permits;    /* of a semaphore; 0: it is none, or nobody knows */
    int64_t lease_ms;   /* 0: it is no lock that zkflock has made or adopted */
    int64_t success_ms; /* when the last run that succeeded with --once-per began; 0: unknown */
    uint32_t vanished;  /* left without a word, and not waited for yet */
    int64_t until_ms;   /* VIEW_SETTLING: until when, 0 as long as that is not told; else 0 */

    struct view_contender *contenders; /* holders come first */
    size_t len;
    size_t holders;
};

/* What was read of one znode with contenders in it: a lock's, or one of the two of a semaphore. */
struct view_source {
    const char *data;
    size_t data_len;
    struct recipe_census census;
    int64_t pzxid;                     /* the last change to the children */
    struct view_contender *contenders; /* in any order; they become the view's, and the array too */
    size_t len;
};

/*
 * Makes the view of the lock at path, which exists and can be read.  queue is NULL but for a
 * semaphore, where lock is of its leases and queue of the lock under which they are taken; their
 * contenders become the view's.  To be given to view_release().
 */
void view_make(struct view *view, const char *path, struct view_source *lock,
               struct view_source *queue);

void view_release(struct view *view);

#endif
