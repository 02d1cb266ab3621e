/*
 * The table at the head of lock_state.h, checked.  A release build has none of this.
 */
#include "base/debug.h"
#include "lock/lock_state.h"

#ifdef ZKFLOCK_DEBUG

/* What a phase says of a flag. */
enum answer { EITHER, NO, YES };

#define STEP(name) (1U << STEP_##name)
#define HOLD_STEPS (STEP(LIST) | STEP(BACK_OFF) | STEP(PROVE) | STEP(ADOPT) | STEP(ASK_WRITE))
#define SQUARE_STEPS (STEP(SQUARE) | STEP(SQUARE_ABOVE))

static const struct {
    unsigned int steps;
    enum answer leaving, settled, node;
} table[] = {
    [LOCK_JOINING] = {STEP(MAKE_PARENTS) | STEP(ASK_ACL) | STEP(JOIN) | STEP(FIND) | HOLD_STEPS, NO,
                      NO, EITHER},
    [LOCK_WAITING] = {STEP(NONE) | STEP(WATCH) | STEP(COUNT) | STEP(VERIFY) | STEP(JOIN) |
                          STEP(CENSUS) | HOLD_STEPS | SQUARE_STEPS,
                      NO, EITHER, EITHER},
    [LOCK_SETTLING] = {STEP(NONE) | HOLD_STEPS | SQUARE_STEPS, NO, EITHER, YES},
    [LOCK_HELD] = {STEP(NONE), NO, EITHER, YES},
    [LOCK_LEAVING] = {~STEP(NONE), YES, EITHER, EITHER},
    [LOCK_LEFT] = {STEP(NONE), YES, EITHER, NO},
    [LOCK_LOST] = {STEP(NONE), EITHER, EITHER, YES},
    [LOCK_OUT] = {STEP(NONE), EITHER, EITHER, NO},
};

static bool fits(enum answer answer, bool flag)
{
    return answer == EITHER || flag == (answer == YES);
}

static bool is_any_of(const struct lock *lock, unsigned int steps)
{
    return (1U << lock->step) & steps;
}

void lock_check(const struct lock *lock)
{
    bool under_way = lock->pending > 0;

    assert(is_any_of(lock, table[lock->phase].steps));
    assert(fits(table[lock->phase].leaving, lock->leaving));
    assert(fits(table[lock->phase].settled, lock->settled));
    assert(fits(table[lock->phase].node, lock->node != NULL));

    assert(!(under_way && lock->retry));
    assert((lock->step == STEP_NONE) == !(under_way || lock->retry));

    if (lock->phase == LOCK_WAITING) {
        assert(lock->node || lock_is_unfair(lock));
        assert(lock->step != STEP_JOIN || lock->retry);
    }
    if (lock->phase == LOCK_SETTLING)
        assert(lock->settled == (lock->step != STEP_NONE));
    if (is_any_of(lock, STEP(READ_VERSION) | STEP(CLAIM) | STEP(LEAVE) | STEP(REMOVE)))
        assert(lock->node);
    assert(!lock->sweeping || lock->leaving);
    assert(!lock->backing_off || lock->node);
}

#endif
