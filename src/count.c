#include "lock_state.h"

#include <inttypes.h>

#include "clock.h"
#include "lease.h"
#include "log.h"

/*
 * A proof that was long under way leaves too little of the lease for a command to start with; the
 * process may have been stopped meanwhile.
 */
static void hold(struct lock *lock)
{
    if (clock_now() - lock->proof_sent > lease_proof_interval(lock_lease(lock)))
        step_prove(lock);
    else
        lock_enter_held(lock);
}

/*
 * First in the queue, proven, and the census was read behind the proof: may the command start?
 * Rule: after L, counted from the receipt of the first census, the one who is first and exclusive
 * squares whatever it finds; nobody behind it ever held.
 */
void count_consider(struct lock *lock)
{
    uint32_t vanished = 0;

    if (lock->record_state == RECORD_OURS) {
        vanished = recipe_vanished(lock->census, lock->record.base);
        if (vanished == 0) {
            hold(lock);
            return;
        }
        if (!recipe_plausible(vanished)) {
            log_warning("the departure count of %s cannot be right: has somebody written to it? "
                        "Every holder waits %" PRId64 " s for it; see --remove",
                        lock->path, lock->record.lease_ms / 1000);
            lock->record_state = RECORD_BROKEN;
        }
    }
    if (!lock->settled) {
        char span[CLOCK_FORMAT_SIZE];

        lock->step = STEP_NONE;
        lock->phase = LOCK_SETTLING;
        if (lock->settled_at == CLOCK_NEVER)
            lock->settled_at = lock->received + lock_lease(lock);
        log_info("%s: %s; its command may run for %s more", lock->path,
                 lock->record_state == RECORD_OURS ? "a contender vanished"
                                                   : "earlier holders are not known",
                 clock_format(lock->settled_at - clock_now(), span));
    } else if (lock->record_state == RECORD_OURS) {
        step_square(lock, vanished);
    } else if (lock->record_state == RECORD_NONE) {
        step_adopt(lock);
    } else {
        hold(lock);
    }
}

/* SQUARE or ADOPT: of a lock that changed meanwhile everything is read again. */
void count_written(struct lock *lock)
{
    int rc = lock->rc[TAG_MULTI];
    bool all = lock->step == STEP_ADOPT ||
               recipe_vanished(lock->census, lock->record.base) <= LOCK_SQUARE_MAX;

    if (rc == ZOK) {
        lock->record_state = RECORD_OURS;
        if (all)
            hold(lock);
        else
            step_prove(lock);
    } else if (rc == ZNOAUTH) {
        lock_count_no_more(lock);
        step_prove(lock);
    } else if (rc == ZBADVERSION || rc == ZNONODE) {
        step_prove(lock);
    } else {
        leave_because_rc(lock, rc, "write to", lock->path);
    }
}
