#include <stdlib.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "ensemble/fault.h"
#include "lock/lock_parts.h"

/* text: the lock's from now on. */
void held_lose(struct lock *lock, char *text)
{
    xreplace(&lock->failure_text, text);
    lock->failure = EXITCODE_LOST;
    lock->phase = LOCK_LOST;
}

static void lose_deleted(struct lock *lock)
{
    held_lose(lock,
              xasprintf("the znode %s was deleted, by --break or another client", lock->node));
}

static void lose_refused(struct lock *lock, int rc)
{
    char *sentence = fault_sentence(rc, "check", lock->node);

    held_lose(lock, xasprintf("the ensemble refuses the proof of life: %s", sentence));
    free(sentence);
}

static void prove_at(struct lock *lock, int64_t sent)
{
    if (sent > lock->proven_at)
        lock->proven_at = sent;
}

void held_proof_answered(struct lock *lock, const struct session_event *event)
{
    if (lock->phase != LOCK_HELD || session_rc_unknown(event->rc))
        return;
    if (event->rc == ZNONODE)
        lose_deleted(lock);
    else if (event->rc != ZOK)
        lose_refused(lock, event->rc);
    else if (lock_knows_own(lock))
        prove_at(lock, event->sent);
    else
        lock->checked_at = event->sent;
}

/*
 * Completes a proof by a name without the GUID: finds out, behind the proof, whose znode has that
 * name. If it is the own one now, it was so when the proof was carried out.
 */
void held_proof_claimed(struct lock *lock, const struct session_event *event)
{
    if (lock->phase != LOCK_HELD || session_rc_unknown(event->rc))
        return;
    if (event->rc == ZNONODE || event->stat.ephemeralOwner != session_id(lock->session))
        lose_deleted(lock);
    else
        prove_at(lock, lock->checked_at);
}

void held_own_watched(struct lock *lock, const struct session_event *event)
{
    if (lock->phase != LOCK_HELD)
        return;
    if (session_rc_unknown(event->rc))
        lock->watch_own_at = clock_now(); /* sent once there is contact */
    else if (event->rc == ZNONODE)
        lose_deleted(lock);
    else if (event->rc == ZOK) {
        lock_note_own(lock, event);
        if (!lock_owns(lock))
            lose_deleted(lock);
        else if (lock->unmarked && !lock->revoked)
            step_mark(lock);
    }
}

void held_own_changed(struct lock *lock, int watch_type)
{
    if (watch_type == ZOO_DELETED_EVENT)
        lose_deleted(lock);
    else
        lock->watch_own_at = clock_now();
}

int64_t held_tick(struct lock *lock)
{
    if (!session_connected(lock->session))
        return CLOCK_NEVER;
    if (clock_now() >= lock->watch_own_at) {
        lock->watch_own_at = CLOCK_NEVER;
        session_get(lock->session, lock_tag(lock, TAG_OWN_WATCH), lock->node, SESSION_SET_WATCH);
    }
    if (clock_now() >= lock->mark_at)
        step_mark(lock);
    return clock_earlier(lock->mark_at, lock->watch_own_at);
}

void lock_prove(struct lock *lock)
{
    zoo_op_t op;

    if (lock->phase != LOCK_HELD || !session_connected(lock->session))
        return;
    zoo_check_op_init(&op, lock->node, -1);
    session_multi(lock->session, lock_tag(lock, TAG_PROOF), &op, 1);
    /* A name without the GUID may be another's by now. */
    if (!lock_knows_own(lock))
        session_exists(lock->session, lock_tag(lock, TAG_PROOF_OWN), lock->node);
}
