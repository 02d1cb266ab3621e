/*
 * The lock protocol.
 *
 * A step is a flight of requests, sent together and answered in order; when the last answer is in,
 * flight_landed() decides the next step.
 *
 *   MAKE_PARENTS -> JOIN              the lock's znode is made, then the own one in it
 *   ASK_ACL -> JOIN                   with credentials: the own znode gets the lock's ACL, which is
 *                                     asked for before the first JOIN
 *           -> MAKE_PARENTS -> JOIN   there is no lock yet: it is made first, with the ACL of --acl
 *                           -> ASK_ACL    another client has made it meanwhile
 *   JOIN  -> BACK_OFF -> ASK_ACL      the lock's znode, or its ACL, is another one by now
 *            BACK_OFF -> LIST -> BACK_OFF    the same, until that has been done  [accept_acl]
 *   JOIN  -> HELD                     alone, nobody vanished: one round trip  [count_consider]
 *         -> LIST -> HELD             first, nobody vanished
 *                 -> WATCH -> idle    others are ahead; waits for the predecessor  [queue_up]
 *   idle  -> VERIFY -> WATCH | LIST   it has been there for long: a write asks  [queue_tick]
 *   idle  -> PROVE                    it went and only it was ahead  [predecessor_gone]
 *         -> LIST -> PROVE | WATCH    it went and more may be ahead
 *         -> CENSUS -> HELD           it went, only it was ahead, and a proof is fresh  [early.c]
 *                   -> PROVE          the census leaves a doubt
 *                   -> JOIN           the own znode is gone
 *   PROVE -> HELD                     nobody vanished  [count_consider]
 *         -> LIST -> PROVE            somebody has written to the own znode  [queue_proven]
 *         -> SETTLING -> PROVE        somebody did: the lease is waited out, once  [lock_tick]
 *         -> SQUARE -> HELD           then the vanished are counted out
 *         -> ADOPT  -> HELD           the same for a lock that has no record: one is written first
 *                   -> HELD           or may not be: then all have the default lease
 *         -> ASK_WRITE -> SETTLING    no record, a longer lease: may it write one?  else LEAVE
 *   HELD  -> LOST                     own znode or session gone  [held_lose]
 *   any   -> LEAVE -> LEFT            counted out in one transaction  [leave_begin]
 *   HELD  -> REMOVE -> LEFT           the lock goes with it, if nobody else is there  [lock_remove]
 *                   -> LEAVE -> LEFT  somebody is
 *                   -> HELD           what was to go along has changed
 *   SWEEP -> LEAVE -> SWEEP ... LEFT  for a process that died: until nothing is found
 *
 * If contact is lost before all answers are in, the outcome of the flight is unknown.  Once there
 * is contact again, the step is taken again [retry], and JOIN goes on as FIND: the znode may
 * exist.  When the session expires, a waiter goes to OUT, from where its set joins anew, and a
 * holder to LOST.
 *
 * What holds:
 *   - Being first is stable: no lower sequence number can appear.
 *   - HELD needs a committed write that names the own znode (create, set or multi with check) sent
 *     after the lock came free, and a census read behind it in the same session.  The next in the
 *     queue may have sent that write before, a sixth of the lease at the most; then it reads the
 *     census and its own znode after the lock came free.
 *   - All holders of a lock have the same lease: nobody holds before a record with one stands in
 *     the lock's znode, and where nobody may write one it is the default for all.
 *   - Every znode made leaves counted in the parent's version, or its departure makes
 *     recipe_vanished() grow, and the next holder waits.
 *   - The GUID is new for each session, so a znode that carries it is this session's.
 */
#include "lock/lock.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "lock/lock_parts.h"

/*
 * For each step: what follows its answers, what is done if they were lost, and what it is for.  A
 * lock that is to leave waits for the answers to a step that was to hold it, and begins to leave
 * then.
 */
static const struct {
    void (*landed)(struct lock *lock);
    void (*again)(struct lock *lock);
    enum { TO_HOLD, TO_LEAVE } aim;
} steps[] = {
    [STEP_MAKE_PARENTS] = {queue_parents_made, step_make_parents, TO_HOLD},
    [STEP_ASK_ACL] = {queue_acl_asked, step_ask_acl, TO_HOLD},
    [STEP_JOIN] = {queue_joined, queue_join_again, TO_HOLD},
    [STEP_FIND] = {queue_found, queue_find_again, TO_HOLD},
    [STEP_LIST] = {queue_listed, step_list, TO_HOLD},
    [STEP_WATCH] = {queue_watching, step_watch, TO_HOLD},
    [STEP_BACK_OFF] = {queue_backed_off, step_list, TO_HOLD},
    [STEP_COUNT] = {permit_counted, step_count, TO_HOLD},
    [STEP_VERIFY] = {queue_verified, queue_watch_again, TO_HOLD},
    [STEP_CENSUS] = {early_counted, step_prove, TO_HOLD},
    [STEP_PROVE] = {queue_proven, step_prove, TO_HOLD},
    [STEP_SQUARE] = {count_squared, step_prove, TO_HOLD},
    [STEP_SQUARE_ABOVE] = {count_squared_above, step_prove, TO_HOLD},
    [STEP_ADOPT] = {count_adopted, step_prove, TO_HOLD},
    [STEP_ASK_WRITE] = {count_write_asked, step_ask_write, TO_HOLD},
    [STEP_READ_VERSION] = {step_leave, step_read_version, TO_LEAVE},
    [STEP_SWEEP] = {leave_swept, step_sweep, TO_LEAVE},
    [STEP_CLAIM] = {leave_claimed, step_claim, TO_LEAVE},
    [STEP_END] = {NULL, leave_done, TO_LEAVE},
    [STEP_LEAVE] = {leave_answered, leave_again, TO_LEAVE},
    [STEP_REMOVE] = {leave_removed, step_remove, TO_LEAVE},
};

static void flight_landed(struct lock *lock)
{
    if (!lock->leaving || steps[lock->step].aim == TO_LEAVE)
        steps[lock->step].landed(lock);
    else
        leave_begin(lock); /* whatever the step was for no longer counts */
}

static void retry(struct lock *lock)
{
    lock->retry = false;
    steps[lock->step].again(lock);
}

static void session_expired(struct lock *lock)
{
    lock->pending = 0;
    lock->retry = false;
    if (lock->phase == LOCK_HELD) {
        held_lose(lock, xstrdup("the ensemble has ended the session"));
    } else if (lock->step == STEP_REMOVE) {
        leave_uncertain(lock);
    } else if (lock->phase == LOCK_LEAVING) {
        lock->sweeping = false;
        leave_done(lock);
    } else if (lock->phase != LOCK_LEFT && lock->phase != LOCK_LOST) {
        log_warning("the session expired while waiting for %s; joining the queue again",
                    lock->path);
        lock_start_over(lock);
    }
}

static void watch_fired(struct lock *lock, const struct session_event *event)
{
    bool idle = lock_is_idle(lock);
    bool of_children = lock->terms.permits && strcmp(event->path, lock->path) == 0;
    bool of_predecessor = lock->predecessor && strcmp(event->path, lock->predecessor) == 0;

    if (idle && of_children)
        step_count(lock);
    else if (idle && of_predecessor)
        queue_predecessor_changed(lock, event->watch_type);
    else if (of_children || of_predecessor)
        lock->changed_meanwhile = true;
    else if (lock->phase == LOCK_HELD && strcmp(event->path, lock->node) == 0)
        held_own_changed(lock, event->watch_type);
}

/* Takes an answer of the flight; after the last one, goes on. */
static void answered(struct lock *lock, const struct session_event *event)
{
    if (session_rc_unknown(event->rc)) {
        lock->unknown = true;
        lock->other_session |= event->rc == ZSESSIONEXPIRED;
    } else {
        flight_note_answer(lock, event);
    }
    if (--lock->pending > 0)
        return;
    lock->received = clock_now();
    if (!lock->unknown) {
        flight_landed(lock);
    } else {
        lock->retry = true;
        if (session_connected(lock->session))
            retry(lock);
    }
}

/* Ignores a failure: the next step meets its cause. */
static void settling_told(struct lock *lock, const struct session_event *event)
{
    if (event->rc == ZOK && lock->node)
        lock_note_own(lock, event);
}

static void take_reply(struct lock *lock, const struct session_event *event)
{
    struct session_event own = *event;

    own.tag -= lock->tag_base;
    if (own.tag < 0 || own.tag >= TAG_LIMIT)
        return; /* another lock's */
    if (own.tag == TAG_PROOF)
        held_proof_answered(lock, &own);
    else if (own.tag == TAG_PROOF_OWN)
        held_proof_claimed(lock, &own);
    else if (own.tag == TAG_OWN_WATCH)
        held_own_watched(lock, &own);
    else if (own.tag == TAG_SETTLING)
        settling_told(lock, &own);
    else if (own.tag == TAG_ANNOUNCE || own.tag == TAG_EARLY)
        early_answered(lock, &own);
    else if (own.tag == TAG_MARK)
        early_marked(lock, &own);
    else if (lock->pending > 0)
        answered(lock, &own);
}

void lock_handle(struct lock *lock, const struct session_event *event)
{
    switch (event->type) {
    case SESSION_CONNECTED:
        if (lock->retry)
            retry(lock);
        else if (lock->phase == LOCK_HELD)
            lock_prove(lock);
        else if (lock_is_idle(lock))
            queue_watch_again(lock); /* another server may lack what the last one had */
        break;
    case SESSION_DISCONNECTED:
        /* What it does from here on is not seen, and the list was that server's. */
        lock->predecessor_holds = false;
        lock->place.predecessor_first = false;
        early_forget(lock);
        break;
    case SESSION_EXPIRED:
        session_expired(lock);
        break;
    case SESSION_WATCH:
        watch_fired(lock, event);
        break;
    case SESSION_REPLY:
        take_reply(lock, event);
        break;
    }
    lock_check(lock);
}

static int64_t tick_settling(struct lock *lock)
{
    if (lock->settled)
        return CLOCK_NEVER;
    if (clock_now() < lock->settled_at)
        return lock->settled_at;
    lock->settled = true;
    step_prove(lock);
    return CLOCK_NEVER;
}

static int64_t tick_phase(struct lock *lock)
{
    switch (lock->phase) {
    case LOCK_SETTLING:
        return tick_settling(lock);
    case LOCK_WAITING:
        return queue_tick(lock);
    case LOCK_HELD:
        return held_tick(lock);
    default:
        return CLOCK_NEVER;
    }
}

int64_t lock_tick(struct lock *lock)
{
    int64_t next = tick_phase(lock);

    lock_check(lock);
    return next;
}

void lock_leave(struct lock *lock)
{
    if (lock->leaving)
        return;
    lock->leaving = true;
    leave_begin(lock);
    lock_check(lock);
}

void lock_remove(struct lock *lock, const struct lock_znode *others, size_t count)
{
    lock->others = others;
    lock->others_len = count;
    lock->leaving = true;
    lock->phase = LOCK_LEAVING;
    step_remove(lock);
    lock_check(lock);
}

enum lock_phase lock_phase(const struct lock *lock)
{
    return lock->phase;
}

enum exitcode lock_failure(const struct lock *lock, const char **message)
{
    *message = lock->failure_text;
    return lock->failure;
}

size_t lock_ahead(const struct lock *lock)
{
    return lock->place.ahead;
}

int64_t lock_settled_at(const struct lock *lock)
{
    return lock->settled_at;
}

int64_t lock_ensemble_time(const struct lock *lock)
{
    return lock->ctime ? lock->ctime + (clock_now() - lock->created_at) / CLOCK_MS : 0;
}

int64_t lock_proven_at(const struct lock *lock)
{
    return lock->proven_at;
}

const char *lock_revoked(const struct lock *lock)
{
    return lock->revoked ? lock->revoked_by : NULL;
}

const char *lock_guid(const struct lock *lock)
{
    return lock_knows_own(lock) ? lock->guid : "";
}

const char *lock_path(const struct lock *lock)
{
    return lock->path;
}

const char *lock_node(const struct lock *lock)
{
    return lock->node;
}

bool lock_is_vacated(const struct lock *lock)
{
    return lock->phase == LOCK_LEFT && lock->vacated;
}

bool lock_is_awaited(const struct lock *lock)
{
    return lock->awaited;
}

int64_t lock_token(const struct lock *lock)
{
    return lock->czxid;
}
