/*
 * Early proofs: the next in the queue sends proofs of life while it still waits, as a holder does.
 * When its predecessor has gone, it needs no write any more.  It reads the count of departures and
 * then its own znode (CENSUS).  If no contender vanished, its znode is there, and the last proof is
 * fresh, it holds the lock, and the lease runs from when that proof was sent.  A moment later it
 * marks its znode as held.
 *
 * In any doubt it proves anew, by PROVE.  tests/model/early.pml has the variants that let two run.
 *
 * An early proof checks the own znode.  But when somebody has written to the predecessor's znode,
 * by which the predecessor may have corrected the count of departures, the next early proof writes
 * to the own znode (ANNOUNCE).  So does the first one, if anybody may have corrected the count
 * since the own create.  Until then no early proof counts.  Whoever waits for this contender
 * watches its znode, and then reads the count again, before this contender can hold the lock: a
 * server that shows a ghost shows a wrong count from that correction on.  See "Servers that are
 * wrong" in CONTRIBUTING.md.
 */
#include "lock/lock_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lease.h"
#include "base/log.h"
#include "ensemble/fault.h"

/*
 * How often a contender writes to its own znode until it holds the lock, if it neither corrects the
 * count nor announces: it marks it.  One that corrects has proven before, or told how long it
 * waits.
 */
#define WRITES_OF_HOLDER 1

/* The mark, and what others do when they see it, would delay the start of the command. */
#define MARK_AFTER (10 * CLOCK_MS)

static bool is_under_way(const struct lock *lock)
{
    return lock->early_due == CLOCK_NEVER;
}

void early_forget(struct lock *lock)
{
    if (is_under_way(lock))
        lock->told_base = LOCK_UNTOLD; /* it may have been an ANNOUNCE */
    lock->told_version = WRITES_OF_HOLDER;
    lock->early_sent = 0;
    lock->early_due = 0;
}

void early_joined(struct lock *lock)
{
    bool same = lock->record_state == RECORD_OURS && lock->mzxid < lock->czxid;

    lock->told_base = same ? lock->record.base : LOCK_UNTOLD;
}

/*
 * Only the one that is first can correct the count.  So the own create has told of all corrections
 * only if the predecessor is first and the record has not been written since.
 */
void early_queued(struct lock *lock)
{
    early_forget(lock);
    if (!lock->place.predecessor_first || lock->mzxid > lock->czxid)
        lock->told_base = LOCK_UNTOLD;
}

static bool waits_for_unfair(const struct lock *lock)
{
    return strcmp(strrchr(lock->predecessor, '/') + 1, RECIPE_UNFAIR_NAME) == 0;
}

/*
 * Returns true if only the predecessor is ahead.  Readers and permits have others beside them, and
 * while an --unfair contender is ahead, another one can come at any time.
 */
bool lock_is_next(const struct lock *lock)
{
    return lock->predecessor &&
           (lock->terms.kind == NAMING_MUTEX || lock->terms.kind == NAMING_WRITER) &&
           !lock->terms.turn && !waits_for_unfair(lock) &&
           (lock->place.predecessor_first || lock->predecessor_holds);
}

/* Returns true if a CENSUS can be enough: departures are counted, and the own name is unique. */
static bool is_worth_it(const struct lock *lock)
{
    return lock->terms.waits && lock->record_state == RECORD_OURS && lock_counts(lock) &&
           lock_knows_own(lock) && lock_is_next(lock);
}

/* Returns true if the predecessor surely has corrected nothing since the last ANNOUNCE. */
static bool is_told(const struct lock *lock)
{
    return lock->told_base == lock->record.base && lock->predecessor_version <= lock->told_version;
}

int64_t early_tick(struct lock *lock)
{
    bool told = is_told(lock);

    if (is_under_way(lock))
        return CLOCK_NEVER;
    if (!is_worth_it(lock)) {
        early_forget(lock);
        return CLOCK_NEVER;
    }
    if (clock_now() < lock->early_due)
        return lock->early_due;
    lock->early_sent = clock_now();
    lock->early_due = CLOCK_NEVER;
    lock->told_base = lock->record.base;
    lock->told_version = told ? lock->told_version : lock->predecessor_version;
    if (told)
        step_prove_early(lock);
    else
        step_announce(lock);
    return CLOCK_NEVER;
}

void early_answered(struct lock *lock, const struct session_event *event)
{
    if (!lock->early_sent || event->sent < lock->early_sent)
        return; /* it was sent for an earlier place in the queue */
    if (event->rc == ZOK) {
        lock->early_due = lock->early_sent + lease_plan(lock_lease(lock), LEASE_OWN_GRACE).interval;
        if (event->tag == TAG_ANNOUNCE)
            lock_note_own(lock, event);
        return;
    }
    early_forget(lock); /* so that it is told again */
    if (!session_rc_unknown(event->rc))
        lock->early_due = clock_now() + lease_plan(lock_lease(lock), LEASE_OWN_GRACE).interval;
    if (event->rc == ZNONODE && lock_is_idle(lock))
        step_rejoin(lock);
    else if (event->rc == ZBADVERSION && lock_is_idle(lock))
        step_list(lock); /* somebody has written to it */
}

static bool is_fresh(const struct lock *lock)
{
    return lock->early_sent && lease_is_fresh(lock_lease(lock), lock->early_sent, clock_now());
}

/* The answer to a proof that is under way comes before those of the census. */
bool early_is_proven(const struct lock *lock)
{
    return is_worth_it(lock) && is_fresh(lock) && is_told(lock);
}

void early_counted(struct lock *lock)
{
    bool were_read = lock->rc[TAG_OWN] == ZOK && lock->rc[TAG_PARENT] == ZOK;

    if (lock_own_is_gone(lock)) {
        step_rejoin(lock);
        return;
    }
    if (were_read && !accept_znode(lock))
        return;
    if (!were_read || is_under_way(lock) || !is_fresh(lock) || !count_is_clear(lock)) {
        step_prove(lock);
        return;
    }
    lock->proof_sent = lock->early_sent;
    lock_enter_held(lock);
    lock->unmarked = true;
    lock->mark_at = clock_now() + MARK_AFTER;
}

void early_marked(struct lock *lock, const struct session_event *event)
{
    if (lock->phase != LOCK_HELD)
        return;
    if (event->rc == ZOK) {
        lock->unmarked = false;
        lock_note_own(lock, event);
        held_proof_answered(lock, event);
    } else if (event->rc == ZNONODE) {
        held_proof_answered(lock, event);
    } else if (session_rc_unknown(event->rc) || event->rc == ZBADVERSION) {
        lock->watch_own_at = clock_now(); /* reads the version, then marks again */
    } else {
        char *sentence = fault_sentence(event->rc, "write to", lock->node);

        lock->unmarked = false;
        log_warning("%s; --list shows it as held since it began to wait", sentence);
        free(sentence);
    }
}
