/*
 * The wait in the queue: the predecessor is watched, and the server that shows it is doubted.
 */
#include "base/clock.h"
#include "base/log.h"
#include "lock/lock_parts.h"

/*
 * Goes on when the predecessor has left.  If that one was first, or had marked itself as the
 * holder, nobody else is ahead, and no list is needed.  The mark counts only if nothing was written
 * there after it was read: predecessor_holds is reset where that is not known.
 */
static void predecessor_gone(struct lock *lock)
{
    if (lock_is_unfair(lock))
        step_join(lock);
    else if (lock->place.predecessor_first || lock->predecessor_holds)
        step_prove(lock);
    else
        step_list(lock);
}

static void turn_to_another_server(struct lock *lock)
{
    lock->step = lock->node ? STEP_LIST : STEP_JOIN;
    lock->retry = true; /* once there is contact again */
    session_turn(lock->session);
}

static void leave_ghost(struct lock *lock)
{
    log_info("%s is not there any more, but this server shows it; turning to another",
             lock->predecessor);
    turn_to_another_server(lock);
}

/*
 * Turns to another server: at this one more departures are counted out than there were.  It may
 * show znodes that are gone (see queue_verified()) and so lack departures.  If a holder vanished
 * now, the count here would show nobody, and its lease would not be waited for.  If the next server
 * says the same, somebody has written to the lock's znode.
 */
static void doubt_count(struct lock *lock)
{
    if (lock->count_doubted) {
        count_distrust(lock);
        lock->step = STEP_NONE;
        return;
    }
    log_info("the departure count of %s cannot be right at this server; turning to another",
             lock->path);
    lock->count_doubted = true;
    turn_to_another_server(lock);
}

void queue_watching(struct lock *lock)
{
    int rc = lock->rc[TAG_PREDECESSOR];
    bool plausible = lock->rc[TAG_PARENT] == ZOK && count_plausible(lock);

    lock->predecessor_holds = lock->predecessor_holds && plausible && rc == ZOK;
    if (plausible)
        lock->count_doubted = false;
    if (rc == ZNONODE)
        predecessor_gone(lock);
    else if (rc != ZOK)
        leave_because_rc(lock, rc, "watch", lock->predecessor);
    else if (lock_is_unfair(lock) && lock->predecessor_owner == session_id(lock->session))
        queue_take_as_own(lock);
    else if (lock->doubted_czxid && lock->doubted_czxid == lock->predecessor_czxid)
        leave_ghost(lock);
    else if (lock->changed_meanwhile)
        step_watch(lock);
    else if (!plausible && lock->rc[TAG_PARENT] == ZOK && lock->counting != COUNTING_WRONG)
        doubt_count(lock);
    else
        lock->step = STEP_NONE;
}

/* Sets the watch again: a permit waits for any child to go, all others for their predecessor. */
void queue_watch_again(struct lock *lock)
{
    if (lock->terms.permits)
        step_count(lock);
    else
        step_watch(lock);
}

/*
 * Goes on when the leader has said, by the answer to a write, whether the predecessor is there.  A
 * replica that missed the end of a session shows its znodes for ever (ZOOKEEPER-4541), and a watch
 * there never fires.  Reads again before it calls this server wrong: the predecessor may just have
 * left, and the watch have fired meanwhile.
 */
void queue_verified(struct lock *lock)
{
    bool gone = lock->rc[TAG_MULTI] == ZNONODE;

    if (gone && lock->terms.permits && !lock->changed_meanwhile) {
        leave_ghost(lock);
        return;
    }
    lock->doubted_czxid = gone ? lock->predecessor_czxid : 0;
    queue_watch_again(lock);
}

int64_t queue_tick(struct lock *lock)
{
    if (lock->step != STEP_NONE || !lock->predecessor || !session_connected(lock->session))
        return CLOCK_NEVER;
    if (clock_now() < lock->verify_at)
        return clock_earlier(lock->verify_at, early_tick(lock));
    step_verify_later(lock);
    step_verify(lock);
    return CLOCK_NEVER;
}

void queue_predecessor_changed(struct lock *lock, int watch_type)
{
    if (watch_type == ZOO_DELETED_EVENT && early_is_proven(lock))
        step_census(lock);
    else if (watch_type == ZOO_DELETED_EVENT)
        predecessor_gone(lock);
    else
        step_watch(lock);
}
