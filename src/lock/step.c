#include "lock/lock_parts.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "lock/contender.h"

/* Leases between two questions to the ensemble whether the predecessor is there. */
enum { VERIFY_AFTER = 2 };

void step_make_parents(struct lock *lock)
{
    const struct record fresh = {
        .base = 0, .lease_ms = lock->terms.lease / CLOCK_MS, .permits = lock->terms.permits};
    unsigned int depth = 0;
    char text[RECORD_SIZE] = "";

    for (const char *p = lock->path; *p; p++)
        depth += *p == '/';
    if (!lock->terms.turn)
        record_encode(&fresh, text);
    flight_take_off(lock, STEP_MAKE_PARENTS, depth);
    for (const char *p = strchr(lock->path + 1, '/'); p; p = strchr(p + 1, '/')) {
        char *ancestor = xstrndup(lock->path, (size_t)(p - lock->path));

        session_create(lock->session, lock_tag(lock, TAG_ANCESTOR), ancestor, "", ZOO_PERSISTENT,
                       NULL);
        free(ancestor);
    }
    session_create(lock->session, lock_tag(lock, TAG_ANCESTOR), lock->path, text, ZOO_PERSISTENT,
                   NULL);
}

char *step_own_data(const struct lock *lock, enum contender_state state, int64_t settling_ms)
{
    static const enum contender_kind kinds[] = {
        [NAMING_MUTEX] = CONTENDER_EXCLUSIVE, [NAMING_WRITER] = CONTENDER_EXCLUSIVE,
        [NAMING_READER] = CONTENDER_SHARED,   [NAMING_PERMIT] = CONTENDER_PERMIT,
        [NAMING_UNFAIR] = CONTENDER_UNFAIR,
    };
    const struct contender_terms terms = {.kind = lock->terms.turn ? CONTENDER_PERMIT
                                                                   : kinds[lock->terms.kind],
                                          .permits = lock->terms.permits,
                                          .lease_ms = lock->record.lease_ms,
                                          .no_delay = lock->terms.delay == 0,
                                          .settling_ms = settling_ms};

    return contender_encode(state, &terms);
}

static unsigned int requests_above(const struct lock *lock)
{
    return (lock->above_path ? 2U : 0) + (lock->outer_path ? 1U : 0);
}

/* Lists, then reads the znode above, behind the own create. */
static void read_above(struct lock *lock)
{
    if (!lock->above_path)
        return;
    if (lock->outer_path)
        session_get_children(lock->session, lock_tag(lock, TAG_OUTER), lock->outer_path,
                             SESSION_NO_WATCH);
    session_get_children(lock->session, lock_tag(lock, TAG_ABOVE), lock->above_path,
                         SESSION_NO_WATCH);
    session_get(lock->session, lock_tag(lock, TAG_ABOVE_DATA), lock->above_path, SESSION_NO_WATCH);
}

void step_ask_acl(struct lock *lock)
{
    if (!lock->leaving)
        lock->phase = LOCK_JOINING;
    flight_take_off(lock, STEP_ASK_ACL, 1 + requests_above(lock));
    lock->above = (struct above){0};
    session_get_acl(lock->session, lock_tag(lock, TAG_ACL), lock->path);
    read_above(lock);
}

void step_join(struct lock *lock)
{
    bool known = lock->acl.state == ACL_ASKED || lock->acl.state == ACL_FITS;

    if (session_has_credentials(lock->session) && !known) {
        step_ask_acl(lock);
        return;
    }
    if (known)
        lock->acl.state = ACL_ASKED;

    char *name = naming_name(&lock->terms.naming, lock->terms.kind, lock->guid);
    char *own = xasprintf("%s/%s", lock->path, name);
    char *data = step_own_data(lock, CONTENDER_WAITING, 0);

    if (!lock->leaving) /* else it asks whether a create whose answer was lost was carried out */
        lock->phase = LOCK_JOINING;
    flight_take_off(lock, STEP_JOIN, 2 + requests_above(lock));
    lock->proof_sent = lock->sent;
    lock->waited = false;
    lock->above = (struct above){0};
    /* It is another place: nobody who vanishes from now on has been waited for. */
    lock->settled = false;
    lock->told_base = LOCK_UNTOLD;
    session_create(lock->session, lock_tag(lock, TAG_CREATE), own, data,
                   lock->terms.kind == NAMING_UNFAIR ? ZOO_EPHEMERAL : ZOO_EPHEMERAL_SEQUENTIAL,
                   lock->acl.list);
    session_get(lock->session, lock_tag(lock, TAG_PARENT), lock->path, SESSION_NO_WATCH);
    read_above(lock);
    free(data);
    free(own);
    free(name);
}

void step_rejoin(struct lock *lock)
{
    if (!lock->backing_off)
        log_warning("somebody deleted the znode of this zkflock; joining the queue of %s again",
                    lock->path);
    lock_forget_place(lock);
    lock_renew_guid(lock);
    step_join(lock);
}

/* The sync lets this server know of the create, which another one may have carried out. */
void step_find(struct lock *lock)
{
    flight_take_off(lock, STEP_FIND, 3 + requests_above(lock));
    lock->waited = true;
    session_sync(lock->session, lock_tag(lock, TAG_SYNC), lock->path);
    session_get_children(lock->session, lock_tag(lock, TAG_CHILDREN), lock->path, SESSION_NO_WATCH);
    session_get(lock->session, lock_tag(lock, TAG_PARENT), lock->path, SESSION_NO_WATCH);
    read_above(lock);
}

void step_sweep(struct lock *lock)
{
    zoo_op_t op;

    zoo_check_op_init(&op, lock->path, -1);
    flight_take_off(lock, STEP_SWEEP, 3);
    session_multi(lock->session, lock_tag(lock, TAG_MULTI), &op, 1);
    session_get_children(lock->session, lock_tag(lock, TAG_CHILDREN), lock->path, SESSION_NO_WATCH);
    session_get(lock->session, lock_tag(lock, TAG_PARENT), lock->path, SESSION_NO_WATCH);
}

void step_claim(struct lock *lock)
{
    flight_take_off(lock, STEP_CLAIM, 2);
    /*
     * In this order.  A LEAVE whose answer was lost has changed version and owner at once; read the
     * other way round, the new version could come with the old owner, and LEAVE would delete the
     * znode of whoever has taken the name.
     */
    session_get(lock->session, lock_tag(lock, TAG_PARENT), lock->path, SESSION_NO_WATCH);
    session_exists(lock->session, lock_tag(lock, TAG_OWN), lock->node);
}

void step_list(struct lock *lock)
{
    flight_take_off(lock, STEP_LIST, 3 + requests_above(lock));
    /* In this order: the list may be older than what the get shows, but not newer. */
    session_get_children(lock->session, lock_tag(lock, TAG_CHILDREN), lock->path, SESSION_NO_WATCH);
    session_get(lock->session, lock_tag(lock, TAG_PARENT), lock->path, SESSION_NO_WATCH);
    /* Behind the version, as in step_claim(). */
    session_get(lock->session, lock_tag(lock, TAG_OWN), lock->node, SESSION_NO_WATCH);
    read_above(lock);
}

/* The list sets the watch; the count comes from the Stat that is read behind it. */
void step_count(struct lock *lock)
{
    flight_take_off(lock, STEP_COUNT, 2);
    lock->changed_meanwhile = false;
    session_get_children(lock->session, lock_tag(lock, TAG_CHILDREN), lock->path,
                         SESSION_SET_WATCH);
    session_get(lock->session, lock_tag(lock, TAG_PARENT), lock->path, SESSION_NO_WATCH);
}

void step_watch(struct lock *lock)
{
    flight_take_off(lock, STEP_WATCH, 2);
    lock->changed_meanwhile = false;
    /* In this order: the count includes what was squared before the mark was written. */
    session_get(lock->session, lock_tag(lock, TAG_PREDECESSOR), lock->predecessor,
                SESSION_SET_WATCH);
    session_get(lock->session, lock_tag(lock, TAG_PARENT), lock->path, SESSION_NO_WATCH);
}

void step_verify_later(struct lock *lock)
{
    lock->verify_at = clock_now() + VERIFY_AFTER * lock_lease(lock);
}

void step_verify(struct lock *lock)
{
    zoo_op_t op;

    zoo_check_op_init(&op, lock->predecessor, -1);
    flight_take_off(lock, STEP_VERIFY, 1);
    session_multi(lock->session, lock_tag(lock, TAG_MULTI), &op, 1);
}

/* With the version: somebody may have written there that the lock is to be given up. */
static void write_own(struct lock *lock, enum tag tag, enum contender_state state)
{
    char *data = step_own_data(lock, state, 0);

    session_set(lock->session, lock_tag(lock, tag), lock->node, data, lock->version);
    free(data);
}

void step_prove(struct lock *lock)
{
    flight_take_off(lock, STEP_PROVE, 2);
    lock->proof_sent = lock->sent;
    write_own(lock, TAG_OWN, CONTENDER_HELD);
    session_get(lock->session, lock_tag(lock, TAG_PARENT), lock->path, SESSION_NO_WATCH);
}

/* In this order: what the count includes has happened before the own znode is looked at. */
void step_census(struct lock *lock)
{
    flight_take_off(lock, STEP_CENSUS, 2);
    session_get(lock->session, lock_tag(lock, TAG_PARENT), lock->path, SESSION_NO_WATCH);
    session_get(lock->session, lock_tag(lock, TAG_OWN), lock->node, SESSION_NO_WATCH);
}

void step_announce(struct lock *lock)
{
    write_own(lock, TAG_ANNOUNCE, CONTENDER_WAITING);
}

void step_prove_early(struct lock *lock)
{
    zoo_op_t op;

    zoo_check_op_init(&op, lock->node, -1);
    session_multi(lock->session, lock_tag(lock, TAG_EARLY), &op, 1);
}

void step_mark(struct lock *lock)
{
    lock->mark_at = CLOCK_NEVER;
    write_own(lock, TAG_MARK, CONTENDER_HELD);
}

/*
 * Keeps the first line, by which waiters go.  Does not wait for the answer: the text is for people,
 * and only its version matters later.
 */
void step_tell_settling(struct lock *lock, int64_t settling)
{
    /* PROVE, which marks it, is the only way here for one that has waited. */
    enum contender_state state = lock->waited ? CONTENDER_HELD : CONTENDER_WAITING;
    char *data = step_own_data(lock, state, settling / CLOCK_MS);

    session_set(lock->session, lock_tag(lock, TAG_SETTLING), lock->node, data, lock->version);
    free(data);
}

void step_read_version(struct lock *lock)
{
    flight_take_off(lock, STEP_READ_VERSION, 1);
    session_get(lock->session, lock_tag(lock, TAG_PARENT), lock->path, SESSION_NO_WATCH);
}
