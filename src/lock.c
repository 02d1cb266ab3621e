/*
 * The lock protocol.
 *
 * A step is a flight of requests, sent together and answered in order; when the last answer is in,
 * flight_landed() decides the next step.
 *
 *   MAKE_PARENTS -> JOIN              the lock's znode is made, then the own one in it
 *   JOIN  -> HELD                     alone, nobody vanished: one round trip  [count_consider]
 *         -> LIST -> HELD             first, nobody vanished
 *                 -> WATCH -> idle    others are ahead; waits for the predecessor  [queue_up]
 *   idle  -> PROVE                    it went and only it was ahead  [predecessor_gone]
 *         -> LIST -> PROVE | WATCH    it went and more may be ahead
 *   PROVE -> HELD                     nobody vanished  [count_consider]
 *         -> SETTLING -> PROVE        somebody did: the lease is waited out, once  [lock_tick]
 *         -> SQUARE -> HELD           then the vanished are counted out
 *         -> ADOPT  -> HELD           the same for a lock that zkflock did not make
 *   any   -> LEAVE -> LEFT            counted out in one transaction  [leave_begin]
 *
 * If contact is lost before all answers are in, the outcome of the flight is unknown.  Once there
 * is contact again, the step is taken again [retry], and JOIN goes on as FIND: the znode may
 * exist.  An expired session takes a waiter back to JOIN and a holder to LOST.
 *
 * What holds:
 *   - Being first is stable: no lower sequence number can appear.
 *   - HELD needs a committed write that names the own znode (create, set or multi with check) sent
 *     after the lock came free, and a census read behind it in the same session.
 *   - Every znode made leaves counted in the parent's version, or its departure makes
 *     recipe_vanished() grow, and the next holder waits.
 *   - The GUID is new for each session, so a znode that carries it is this session's.
 */
#include "lock.h"

#include <string.h>

#include "clock.h"
#include "contender.h"
#include "lock_state.h"
#include "log.h"
#include "xalloc.h"

static void rejoin(struct lock *lock, const char *why)
{
    log_warning("%s; joining the queue of %s again", why, lock->path);
    lock_forget_place(lock);
    lock_renew_guid(lock);
    step_join(lock);
}

static void queue_up(struct lock *lock)
{
    lock->phase = LOCK_WAITING;
    log_info("waiting for %s: %zu ahead", lock->path, lock->place.ahead);
    lock->predecessor_holds = false;
    lock->waited = true;
    step_watch(lock);
}

/* Whether the lock's znode is one that can be relied on; leaves otherwise. */
static bool acceptable(struct lock *lock)
{
    int32_t sequence;

    if (lock->record_state == RECORD_FOREIGN)
        leave_because(
            lock, EXITCODE_CONFIG,
            "%s holds %zu bytes that are not zkflock's: it is no lock; choose another LOCK",
            lock->path, lock->foreign_len);
    else if (recipe_sequence(lock->node, &sequence) && sequence >= RECIPE_SEQUENCE_LIMIT)
        leave_because(lock, EXITCODE_CONFIG,
                      "%s has used up its sequence numbers (2^31 contenders); remove that znode or "
                      "choose another LOCK",
                      lock->path);
    else
        return true;
    return false;
}

/* After a list: where do we stand? */
static void consider_place(struct lock *lock)
{
    if (lock->rc[TAG_CHILDREN] != ZOK)
        leave_because_rc(lock, lock->rc[TAG_CHILDREN], "list", lock->path);
    else if (lock->rc[TAG_PARENT] != ZOK)
        leave_because_rc(lock, lock->rc[TAG_PARENT], "read", lock->path);
    else if (!acceptable(lock))
        return;
    else if (!lock->place.found)
        rejoin(lock, "the own znode was deleted by somebody");
    else if (lock->place.ahead > 0)
        queue_up(lock);
    else if (lock->waited)
        step_prove(lock);
    else
        count_consider(lock); /* the create is the proof */
}

/* An only child is first, and a list would say no more. */
static void joined(struct lock *lock)
{
    int rc = lock->rc[TAG_CREATE];

    if (rc == ZNONODE && lock->remade++ < LOCK_REMAKE_MAX)
        step_make_parents(lock);
    else if (rc != ZOK)
        leave_because_rc(lock, rc, "create a znode in", lock->path);
    else if (lock->rc[TAG_PARENT] != ZOK)
        leave_because_rc(lock, lock->rc[TAG_PARENT], "read", lock->path);
    else if (!acceptable(lock))
        return;
    else if (lock->census.children == 1)
        count_consider(lock); /* the create is the proof */
    else
        step_list(lock);
}

static void parents_made(struct lock *lock)
{
    int rc = lock->rc[TAG_ANCESTOR];

    if (rc == ZOK || rc == ZNODEEXISTS)
        step_join(lock);
    else if (rc == ZNONODE && lock->ancestor_rc == ZNONODE)
        leave_because(
            lock, EXITCODE_CONFIG,
            "cannot create %s: the chroot in the list of servers does not exist; create that "
            "znode first",
            lock->path);
    else
        leave_because_rc(lock, rc == ZNONODE ? lock->ancestor_rc : rc, "create", lock->path);
}

static void found(struct lock *lock)
{
    if (lock->rc[TAG_CHILDREN] == ZNONODE || (lock->rc[TAG_CHILDREN] == ZOK && !lock->node))
        step_join(lock); /* the create never happened */
    else if (lock->node && lock->czxid == 0)
        step_list(lock); /* for the token */
    else
        consider_place(lock);
}

static void predecessor_gone(struct lock *lock)
{
    if (lock->place.ahead == 1 || lock->predecessor_holds)
        step_prove(lock);
    else
        step_list(lock);
}

static void proven(struct lock *lock)
{
    if (lock->rc[TAG_OWN] == ZNONODE)
        rejoin(lock, "the own znode was deleted by somebody");
    else if (lock->rc[TAG_OWN] != ZOK)
        leave_because_rc(lock, lock->rc[TAG_OWN], "write to", lock->node);
    else if (lock->rc[TAG_PARENT] != ZOK)
        leave_because_rc(lock, lock->rc[TAG_PARENT], "read", lock->path);
    else if (acceptable(lock))
        count_consider(lock);
}

static void listed(struct lock *lock)
{
    if (lock->rc[TAG_OWN] == ZNONODE)
        rejoin(lock, "the own znode was deleted by somebody");
    else
        consider_place(lock);
}

static void watching(struct lock *lock)
{
    int rc = lock->rc[TAG_PREDECESSOR];

    if (rc == ZNONODE)
        predecessor_gone(lock);
    else if (rc != ZOK)
        leave_because_rc(lock, rc, "watch", lock->predecessor);
    else
        lock->step = STEP_NONE;
}

static void find_again(struct lock *lock)
{
    if (lock->node && lock->czxid)
        step_list(lock);
    else
        step_find(lock);
}

/* For each step: what follows its answers, and what is done if they were lost. */
static const struct {
    void (*landed)(struct lock *lock);
    void (*again)(struct lock *lock);
} steps[] = {
    [STEP_MAKE_PARENTS] = {parents_made, step_make_parents},
    [STEP_JOIN] = {joined, find_again},
    [STEP_FIND] = {found, find_again},
    [STEP_LIST] = {listed, step_list},
    [STEP_WATCH] = {watching, step_watch},
    [STEP_PROVE] = {proven, step_prove},
    [STEP_SQUARE] = {count_written, step_prove},
    [STEP_ADOPT] = {count_written, step_prove},
    [STEP_READ_VERSION] = {leave_version_read, step_read_version},
    [STEP_LEAVE] = {leave_answered, step_leave}, /* if it was carried out, now nothing is found */
};

static void flight_landed(struct lock *lock)
{
    bool leaving_step = lock->step == STEP_LEAVE || lock->step == STEP_READ_VERSION;

    if (!lock->leaving || leaving_step)
        steps[lock->step].landed(lock);
    else if (lock->step == STEP_PROVE && lock->rc[TAG_OWN] == ZNONODE)
        leave_done(lock);
    else
        leave_begin(lock); /* whatever the step was for no longer counts */
}

static void retry(struct lock *lock)
{
    lock->retry = false;
    steps[lock->step].again(lock);
}

static void proof_answered(struct lock *lock, const struct session_event *event)
{
    if (lock->phase != LOCK_HELD || session_rc_unknown(event->rc))
        return;
    if (event->rc == ZOK) {
        if (event->sent > lock->proven_at)
            lock->proven_at = event->sent;
        return;
    }
    xreplace(&lock->failure_text,
             event->rc == ZNONODE
                 ? xasprintf("the znode %s was deleted by somebody", lock->node)
                 : xasprintf("the ensemble refuses the proof of life: %s", zerror(event->rc)));
    lock->failure = EXITCODE_LOST;
    lock->phase = LOCK_LOST;
}

static void session_expired(struct lock *lock)
{
    lock->pending = 0;
    lock->retry = false;
    if (lock->phase == LOCK_HELD) {
        lock->failure = EXITCODE_LOST;
        xreplace(&lock->failure_text, xstrdup("the ensemble has ended the session"));
        lock->phase = LOCK_LOST;
    } else if (lock->phase == LOCK_LEAVING) {
        leave_done(lock);
    } else if (lock->phase != LOCK_LEFT && lock->phase != LOCK_LOST) {
        log_warning("the session expired while waiting for %s; joining the queue again",
                    lock->path);
        lock_forget_place(lock);
        lock_renew_guid(lock);
        lock->step = STEP_NONE;
        lock->phase = LOCK_JOINING;
        session_reopen(lock->session);
    }
}

void lock_handle(struct lock *lock, const struct session_event *event)
{
    switch (event->type) {
    case SESSION_CONNECTED:
        if (lock->retry)
            retry(lock);
        else if (lock->phase == LOCK_JOINING && lock->step == STEP_NONE)
            step_join(lock);
        else if (lock->phase == LOCK_HELD)
            lock_prove(lock);
        break;
    case SESSION_DISCONNECTED:
        break;
    case SESSION_EXPIRED:
        session_expired(lock);
        break;
    case SESSION_WATCH:
        if (lock->phase != LOCK_WAITING || lock->step != STEP_NONE ||
            strcmp(event->path, lock->predecessor) != 0)
            break;
        if (event->watch_type == ZOO_DELETED_EVENT)
            predecessor_gone(lock);
        else
            step_watch(lock);
        break;
    case SESSION_REPLY:
        if (event->tag == TAG_PROOF) {
            proof_answered(lock, event);
            break;
        }
        if (lock->pending == 0)
            break;
        if (session_rc_unknown(event->rc))
            lock->unknown = true;
        else
            flight_note_answer(lock, event);
        if (--lock->pending > 0)
            break;
        lock->received = clock_now();
        if (!lock->unknown) {
            flight_landed(lock);
        } else {
            lock->retry = true;
            if (session_connected(lock->session))
                retry(lock);
        }
        break;
    }
}

struct lock *lock_new(struct session *session, const char *path, int64_t lease_ms)
{
    struct lock *lock = xcalloc(1, sizeof(*lock));

    lock->session = session;
    lock->path = xstrdup(path);
    lock->record.lease_ms = lease_ms;
    lock->settled_at = CLOCK_NEVER;
    lock_renew_guid(lock);
    step_join(lock); /* sent with the handshake */
    return lock;
}

int64_t lock_tick(struct lock *lock)
{
    if (lock->phase != LOCK_SETTLING || lock->settled)
        return CLOCK_NEVER;
    if (clock_now() < lock->settled_at)
        return lock->settled_at;
    lock->settled = true;
    step_prove(lock);
    return CLOCK_NEVER;
}

void lock_prove(struct lock *lock)
{
    zoo_op_t op;

    if (lock->phase != LOCK_HELD || !session_connected(lock->session))
        return;
    zoo_check_op_init(&op, lock->node, -1);
    session_multi(lock->session, TAG_PROOF, &op, 1);
}

void lock_leave(struct lock *lock)
{
    if (lock->leaving)
        return;
    lock->leaving = true;
    leave_begin(lock);
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

int64_t lock_proven_at(const struct lock *lock)
{
    return lock->proven_at;
}

const char *lock_node(const struct lock *lock)
{
    return lock->node;
}

int64_t lock_token(const struct lock *lock)
{
    return lock->czxid;
}

void lock_free(struct lock *lock)
{
    if (!lock)
        return;
    free(lock->path);
    free(lock->node);
    free(lock->predecessor);
    free(lock->failure_text);
    free(lock);
}
