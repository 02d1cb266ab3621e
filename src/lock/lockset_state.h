/*
 * The inside of struct lockset: lockset.c takes the locks and gives them back, lockset_resume.c
 * lets another process do the latter.
 */
#ifndef ZKFLOCK_LOCKSET_STATE_H
#define ZKFLOCK_LOCKSET_STATE_H

#include "lock/lockset.h"

/*
 *   TAKING         -> REFRESHING     all are held, but some by a proof that is too old  [advance]
 *                  -> COMPLETE       all are held by fresh proofs  [advance]
 *                  -> STARTING_OVER  a lock that is needed is gone: gives all back  [start_over]
 *   REFRESHING     -> TAKING         the answers to the new proofs were too late, or lost
 *                  -> COMPLETE, STARTING_OVER  as from TAKING
 *   STARTING_OVER  -> TAKING         nothing is left: takes the first lock  [begin_again]
 *   any            -> LEAVING        [lockset_leave]
 */
enum lockset_state {
    LOCKSET_TAKING,
    LOCKSET_REFRESHING,
    LOCKSET_STARTING_OVER,
    LOCKSET_COMPLETE, /* a loss is final from now on */
    LOCKSET_LEAVING,
};

struct lockset {
    struct session *session;
    const struct lockset_item *items; /* NULL: resumed */
    size_t count;
    struct lock **locks; /* up to current; NULL: not begun */
    size_t current;
    enum lockset_state state;
    int64_t refreshed_at; /* when the new proofs were asked for */
};

/* Returns true if this lock has no place in a queue any more, or one that it has lost. */
static inline bool lockset_is_over(const struct lock *lock)
{
    enum lock_phase phase = lock_phase(lock);

    return phase == LOCK_LEFT || phase == LOCK_LOST || phase == LOCK_OUT;
}

#endif
