/*
 * The inside of struct lockset: lockset.c takes the locks and gives them back, lockset_resume.c
 * lets another process do the latter.
 */
#ifndef ZKFLOCK_LOCKSET_STATE_H
#define ZKFLOCK_LOCKSET_STATE_H

#include "lock/lockset.h"

struct lockset {
    struct session *session;
    const struct lockset_item *items; /* NULL: resumed */
    size_t count;
    struct lock **locks; /* up to current; NULL: not begun */
    size_t current;
    bool leaving;
    bool starting_over; /* all are being given back, to be taken again */
    bool refreshing;    /* proofs of locks that were taken long ago are under way */
    int64_t refreshed_at;
    bool complete; /* all were held at the same time: from now on a loss is final */
};

/* Returns true if this lock has no place in a queue any more, or one that it has lost. */
static inline bool lockset_is_over(const struct lock *lock)
{
    enum lock_phase phase = lock_phase(lock);

    return phase == LOCK_LEFT || phase == LOCK_LOST || phase == LOCK_OUT;
}

#endif
