#include "lock/lock_parts.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/lease.h"
#include "base/log.h"

/*
 * Holds the lock, unless the last proof is too old for a command to start by: then it proves once
 * more.  The proof may have been long under way, or the process been stopped meanwhile.
 */
static void hold(struct lock *lock)
{
    if (lease_is_fresh(lock_lease(lock), lock->proof_sent, clock_now()))
        lock_enter_held(lock);
    else
        step_prove(lock);
}

/* ---- what is known ---- */

static enum recipe_kind kind_of(const struct lock *lock)
{
    if (lock->terms.permits)
        return RECIPE_PERMIT;
    return lock->terms.kind == NAMING_READER ? RECIPE_READER : RECIPE_EXCLUSIVE;
}

static enum recipe_record record_of(const struct lock *lock)
{
    if (lock->record_state == RECORD_NEEDLESS)
        return RECIPE_NEEDLESS;
    if (lock->counting == COUNTING_WRONG)
        return RECIPE_WRONG;
    if (lock->record_state == RECORD_OURS)
        return lock_counts(lock) ? RECIPE_COUNTED : RECIPE_UNCOUNTED;
    if (lock->counting == COUNTING_FORBIDDEN)
        return RECIPE_FORBIDDEN;
    return lock->counting == COUNTING_PERMITTED ? RECIPE_WRITABLE : RECIPE_NO_RECORD;
}

static struct recipe_decision decide(const struct lock *lock)
{
    const struct recipe_facts facts = {
        .kind = kind_of(lock),
        .record = record_of(lock),
        .base = lock->record.base,
        .longer_lease = lock->terms.lease > LEASE_DEFAULT,
        .careful = lock->terms.delay != 0,
        .settled = lock->settled,
        .census = lock->census,
        .settling = lock->settling,
        .waited_for = lock->waited_for,
        .vanished_above = lock->above.vanished,
        .taken = lock_permits_taken(lock),
        .permits = (size_t)lock->terms.permits,
    };

    return recipe_decide(&facts);
}

/* ---- what follows ---- */

/* Returns for how long those who vanished may still run a command, ns. */
static int64_t settling_delay(const struct lock *lock)
{
    int64_t delay = lock_lease(lock);

    /* The lock above has no record: its holders had the default lease. */
    if (lock->above.vanished > 0 && delay < LEASE_DEFAULT)
        delay = LEASE_DEFAULT;
    /* --lock-delay may make it longer, never shorter. */
    return lock->terms.delay > delay ? lock->terms.delay : delay;
}

static void settle(struct lock *lock)
{
    char span[CLOCK_FORMAT_SIZE];
    int64_t delay = settling_delay(lock);
    bool counted = record_of(lock) == RECIPE_COUNTED;

    lock->step = STEP_NONE;
    lock->phase = LOCK_SETTLING;
    lock->settled = false;
    lock->settled_at = lock->received + delay;
    lock->settling = lock->census;
    lock->waited_for = counted ? recipe_vanished(lock->census, lock->record.base) : 0;
    step_tell_settling(lock, delay);
    if (lock->above.vanished > 0)
        log_info("%s: a holder of a former lock there may have vanished; its command may run "
                 "for %s more",
                 lock->above_path, clock_format(lock->settled_at - clock_now(), span));
    else
        log_info("%s: %s may run for %s more", lock->path,
                 counted ? "a contender vanished; its command"
                         : "earlier holders are not known; one of them and its command",
                 clock_format(lock->settled_at - clock_now(), span));
}

bool count_plausible(const struct lock *lock)
{
    return lock->record_state != RECORD_OURS ||
           recipe_plausible(recipe_vanished(lock->census, lock->record.base));
}

void count_distrust(struct lock *lock)
{
    log_warning("the departure count of %s cannot be right: has somebody written to it? The next "
                "holder sets it right, after a wait of %" PRId64 " s",
                lock->path, lock->record.lease_ms / 1000);
    lock->counting = COUNTING_WRONG;
}

static void leave_because_lease(struct lock *lock)
{
    char own[CLOCK_FORMAT_SIZE];
    char common[CLOCK_FORMAT_SIZE];

    leave_because(lock, EXITCODE_CONFIG,
                  "%s has no record of its lease and its ACL does not let this client write one, "
                  "so the lease is %s for all; leave out --lease %s, or take the lock once as a "
                  "user who may write to that znode",
                  lock->path, clock_format(LEASE_DEFAULT, common),
                  clock_format(lock->terms.lease, own));
}

bool count_is_clear(const struct lock *lock)
{
    return decide(lock).verdict == RECIPE_HOLD;
}

void count_consider(struct lock *lock)
{
    const struct recipe_decision decision = decide(lock);

    switch (decision.verdict) {
    case RECIPE_HOLD:
    case RECIPE_HOLD_BLIND:
        hold(lock);
        break;
    case RECIPE_SETTLE:
        settle(lock);
        break;
    case RECIPE_ASK_WRITE:
        step_ask_write(lock);
        break;
    case RECIPE_SQUARE:
        step_square(lock, decision.count);
        lock->waited_for -= lock->squaring; /* also if the answer is lost: it may have been done */
        break;
    case RECIPE_SQUARE_ABOVE:
        step_square_above(lock);
        break;
    case RECIPE_ADOPT:
        step_adopt(lock, decision.count);
        break;
    case RECIPE_REFUSE_LEASE:
        leave_because_lease(lock);
        break;
    case RECIPE_DISTRUST:
        count_distrust(lock);
        count_consider(lock);
        break;
    }
}

/* ---- what was written ---- */

/* The part of each transaction here that writes to the own znode, see step.c. */
enum { OP_OWN = 1 };

/*
 * Goes on behind a transaction that wrote to the own znode and so proved life.  A znode whose name
 * has no GUID may be another's by now: PROVE finds out.
 */
static void written(struct lock *lock, bool enough)
{
    if (enough && lock_knows_own(lock))
        hold(lock);
    else
        step_prove(lock);
}

/* Goes on behind a refused transaction.  If the lock has changed, PROVE reads it again. */
static void not_written(struct lock *lock, int rc)
{
    bool own = lock->failed_op == OP_OWN;

    if (rc == ZNOAUTH && !own)
        lock_count_no_more(lock);
    else if (rc != ZBADVERSION && rc != ZNONODE) {
        leave_because_rc(lock, rc, "write to", own ? lock->node : lock->path);
        return;
    }
    step_prove(lock);
}

void count_squared(struct lock *lock)
{
    int rc = lock->rc[TAG_MULTI];
    bool all = lock->squaring == recipe_vanished(lock->census, lock->record.base);

    if (rc != ZOK) {
        lock->waited_for += lock->squaring;
        not_written(lock, rc);
        return;
    }
    lock->counting = COUNTING_PERMITTED;
    lock->census.version = (int32_t)((uint32_t)lock->census.version + lock->squaring);
    lock->version++;
    written(lock, all);
}

/* Goes on even if it failed: then the next contender waits once more than it needs to. */
void count_squared_above(struct lock *lock)
{
    int rc = lock->rc[TAG_MULTI];

    if (rc == ZOK)
        lock->version++;
    else if (rc == ZNOAUTH && lock->failed_op != OP_OWN)
        log_warning("not permitted to write to %s, so a departure there cannot be counted, and "
                    "every permit waits %" PRId64 " s for it",
                    lock->above_path, LEASE_DEFAULT / CLOCK_S);
    if (rc == ZOK && lock->squaring > 0) {
        lock->above.vanished -= lock->squaring;
        lock->above.version = (int32_t)((uint32_t)lock->above.version + lock->squaring);
    } else {
        lock->above.vanished = 0; /* it was waited for */
    }
    step_prove(lock);
}

void count_adopted(struct lock *lock)
{
    int rc = lock->rc[TAG_MULTI];

    if (rc != ZOK) {
        not_written(lock, rc);
        return;
    }
    lock->counting = COUNTING_PERMITTED;
    lock->record_state = RECORD_OURS;
    lock->record = lock->adopting;
    lock->census.version = (int32_t)((uint32_t)lock->census.version + 1);
    lock->version++;
    /* Those that left during the wait may be too many beside a permit. */
    written(lock, !lock->terms.permits);
}

void count_write_asked(struct lock *lock)
{
    if (lock->rc[TAG_MULTI] == ZNOAUTH) {
        leave_because_lease(lock);
        return;
    }
    lock->counting = COUNTING_PERMITTED;
    count_consider(lock);
}
