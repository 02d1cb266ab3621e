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
    const struct lease lease = lease_plan(lock_lease(lock), LEASE_OWN_GRACE);

    if (clock_now() - lock->proof_sent > lease.interval)
        step_prove(lock);
    else
        lock_enter_held(lock);
}

static void begin_settling(struct lock *lock)
{
    int64_t delay = lock_lease(lock);

    /* More than the lease if that was asked for, and never less. */
    if (lock->terms.delay > delay)
        delay = lock->terms.delay;
    lock->settled_at = lock->received + delay;
    lock->settling = lock->census;
    lock->squared = 0;
    step_tell_settling(lock, lock->settled_at - lock->received);
}

/* Each that vanished may still run one command; there may be permits for all of them. */
static bool are_enough_permits(const struct lock *lock, uint32_t vanished)
{
    return lock->terms.permits &&
           (int64_t)lock->census.children + vanished <= (int64_t)lock->terms.permits;
}

/* Whether nobody has come in or gone out since the wait began. */
static bool is_unchanged(const struct lock *lock)
{
    return lock->census.version == lock->settling.version &&
           recipe_vanished(lock->census, 0) == recipe_vanished(lock->settling, 0);
}

/*
 * How many may be counted out after the wait.  Who is alone: all that are found, since nobody
 * behind it ever held.  A permit holder: those that it has waited for; under the lock that it
 * stands in nobody else counts any out.  A reader, beside whom others do: all if nothing has
 * changed, or none.
 */
static uint32_t may_square(const struct lock *lock, uint32_t vanished)
{
    if (lock->terms.permits) {
        uint32_t due = recipe_vanished(lock->settling, lock->record.base) - lock->squared;

        return due < vanished ? due : vanished;
    }
    return lock->terms.kind != NAMING_READER || is_unchanged(lock) ? vanished : 0;
}

static bool may_adopt(const struct lock *lock)
{
    return !(lock->terms.permits || lock->terms.kind == NAMING_READER) || is_unchanged(lock);
}

/*
 * First in the queue, proven, and the census was read behind the proof: may the command start?
 * Rule: after L, counted from the receipt of the first census, the one who is first and exclusive
 * squares whatever it finds; nobody behind it ever held.  A reader squares what it saw first, or
 * nothing.
 */
void count_consider(struct lock *lock)
{
    uint32_t due = 0; /* to be counted out, having been waited for */

    if (lock->record_state == RECORD_OURS) {
        uint32_t vanished = recipe_vanished(lock->census, lock->record.base);

        due = lock->settled ? may_square(lock, vanished) : 0;
        /* What is due is counted out even if there are permits enough, for those who come next. */
        if (vanished == 0 || (are_enough_permits(lock, vanished) && due == 0)) {
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
    /* --lock-delay 0 is at the user's risk; the count stays for those who do not take it. */
    bool careful = lock->terms.delay != 0;

    /* Others have vanished while those before them were waited for. */
    if (careful && lock->settled && lock->terms.permits && lock->record_state == RECORD_OURS &&
        due == 0) {
        lock->settled = false;
        lock->settled_at = CLOCK_NEVER;
    }
    if (careful && !lock->settled) {
        char span[CLOCK_FORMAT_SIZE];

        lock->step = STEP_NONE;
        lock->phase = LOCK_SETTLING;
        if (lock->settled_at == CLOCK_NEVER)
            begin_settling(lock);
        log_info("%s: %s; its command may run for %s more", lock->path,
                 lock->record_state == RECORD_OURS ? "a contender vanished"
                                                   : "earlier holders are not known",
                 clock_format(lock->settled_at - clock_now(), span));
    } else if (careful && lock->record_state == RECORD_OURS && due > 0) {
        step_square(lock, due);
        lock->squared += lock->squaring; /* also if the answer is lost: it may have been done */
    } else if (careful && lock->record_state == RECORD_NONE && may_adopt(lock)) {
        step_adopt(lock);
    } else {
        hold(lock);
    }
}

static void not_written(struct lock *lock)
{
    if (lock->step == STEP_SQUARE)
        lock->squared -= lock->squaring;
    step_prove(lock);
}

/* SQUARE or ADOPT: of a lock that changed meanwhile everything is read again. */
void count_written(struct lock *lock)
{
    int rc = lock->rc[TAG_MULTI];
    bool all = lock->step == STEP_ADOPT ||
               lock->squaring == recipe_vanished(lock->census, lock->record.base);

    if (rc == ZOK) {
        uint32_t sets = lock->step == STEP_SQUARE ? lock->squaring : 1;

        lock->record_state = RECORD_OURS;
        lock->census.version = (int32_t)((uint32_t)lock->census.version + sets);
        /* A check by a name without the GUID may have met another's znode. */
        if (all && lock_knows_own(lock))
            hold(lock);
        else
            step_prove(lock);
    } else if (rc == ZNOAUTH) {
        lock_count_no_more(lock);
        not_written(lock);
    } else if (rc == ZBADVERSION || rc == ZNONODE) {
        not_written(lock);
    } else {
        leave_because_rc(lock, rc, "write to", lock->path);
    }
}
