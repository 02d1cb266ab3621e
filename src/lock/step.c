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

/* Returns the data for the own znode, to be freed; settling_ms: see struct contender_terms. */
static char *own_data(const struct lock *lock, enum contender_state state, int64_t settling_ms)
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
    char *data = own_data(lock, CONTENDER_WAITING, 0);

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
    char *data = own_data(lock, state, 0);

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
    char *data = own_data(lock, state, settling / CLOCK_MS);

    session_set(lock->session, lock_tag(lock, TAG_SETTLING), lock->node, data, lock->version);
    free(data);
}

/*
 * Makes the part of a transaction that proves that the own znode is there.  It writes the mark
 * anew, which has the next waiter read the count again, see queue_watching().  Returns the data, to
 * be freed.
 */
static char *set_own_op(const struct lock *lock, zoo_op_t *op)
{
    char *data = own_data(lock, CONTENDER_HELD, 0);

    zoo_set_op_init(op, lock->node, data, (int)strlen(data), lock->version, NULL);
    return data;
}

/*
 * Counts out so many, LOCK_SQUARE_MAX at the most: each set, to the same bytes, adds one to the
 * version of the znode and so takes one off the count.  Returns how many.
 */
static uint32_t square(struct lock *lock, enum step step, const char *path, int32_t version,
                       const char *text, uint32_t count)
{
    zoo_op_t ops[2 + LOCK_SQUARE_MAX];

    if (count > LOCK_SQUARE_MAX)
        count = LOCK_SQUARE_MAX;
    zoo_check_op_init(&ops[0], path, version);

    char *own = set_own_op(lock, &ops[1]);

    for (uint32_t i = 0; i < count; i++)
        zoo_set_op_init(&ops[2 + i], path, text, (int)strlen(text), -1, NULL);
    flight_take_off(lock, step, 1);
    session_multi(lock->session, lock_tag(lock, TAG_MULTI), ops, (int)(2 + count));
    free(own);
    return count;
}

void step_square(struct lock *lock, uint32_t count)
{
    char text[RECORD_SIZE];

    record_encode(&lock->record, text);
    lock->squaring = square(lock, STEP_SQUARE, lock->path, lock->census.version, text, count);
    lock->proof_sent = lock->sent;
}

/* Leaves a count alone that cannot be right: there the next contender waits too. */
void step_square_above(struct lock *lock)
{
    const struct above *above = &lock->above;
    bool counts = recipe_plausible(above->vanished);

    lock->squaring = square(lock, STEP_SQUARE_ABOVE, lock->above_path, above->version, "",
                            counts ? above->vanished : 0);
}

void step_adopt(struct lock *lock, uint32_t base)
{
    zoo_op_t ops[2];
    char text[RECORD_SIZE];

    lock->adopting = (struct record){
        .base = base, .lease_ms = lock->record.lease_ms, .permits = lock->terms.permits};

    int len = (int)record_encode(&lock->adopting, text);

    char *own = set_own_op(lock, &ops[1]);

    zoo_set_op_init(&ops[0], lock->path, text, len, lock->census.version, NULL);
    lock->waited_for = 0; /* those are no part of the count any more */
    flight_take_off(lock, STEP_ADOPT, 1);
    lock->proof_sent = lock->sent;
    session_multi(lock->session, lock_tag(lock, TAG_MULTI), ops, 2);
    free(own);
}

/* Gives a version that the znode cannot have; the server looks at the ACL first. */
void step_ask_write(struct lock *lock)
{
    int32_t other = lock->census.version ^ 0x40000000;
    zoo_op_t op;

    zoo_set_op_init(&op, lock->path, "", 0, other, NULL);
    flight_take_off(lock, STEP_ASK_WRITE, 1);
    session_multi(lock->session, lock_tag(lock, TAG_MULTI), &op, 1);
}

void step_read_version(struct lock *lock)
{
    flight_take_off(lock, STEP_READ_VERSION, 1);
    session_get(lock->session, lock_tag(lock, TAG_PARENT), lock->path, SESSION_NO_WATCH);
}

static void delete_own(struct lock *lock, enum step step)
{
    zoo_op_t ops[2];
    char text[RECORD_SIZE] = "";
    bool has_record = lock->record_state == RECORD_OURS;
    int len = has_record ? (int)record_encode(&lock->record, text) : 0;
    /*
     * A name without the GUID may be another's by now, and where there was no record one may have
     * been written since: never without a version.
     */
    bool cautiously =
        ++lock->leave_tries <= LOCK_LEAVE_CAUTIOUSLY || !lock_knows_own(lock) || !has_record;
    int version = cautiously ? lock->census.version : -1;

    flight_take_off(lock, step, 1);
    if (!lock_counts(lock)) {
        session_delete(lock->session, lock_tag(lock, TAG_DELETE), lock->node);
        return;
    }
    zoo_set_op_init(&ops[0], lock->path, text, len, version, NULL);
    zoo_delete_op_init(&ops[1], lock->node, -1);
    session_multi(lock->session, lock_tag(lock, TAG_MULTI), ops, 2);
}

void step_leave(struct lock *lock)
{
    delete_own(lock, STEP_LEAVE);
}

void step_remove(struct lock *lock)
{
    zoo_op_t ops[2 + LOCK_OTHERS_MAX];
    int count = 0;

    lock->remove_tries++;
    zoo_delete_op_init(&ops[count++], lock->node, -1);
    zoo_delete_op_init(&ops[count++], lock->path, lock->census.version);
    for (size_t i = 0; i < lock->others_len; i++) {
        const struct lock_znode *other = &lock->others[i];

        if (other->record)
            zoo_set_op_init(&ops[count++], other->path, other->record, (int)strlen(other->record),
                            other->version, NULL);
        else
            zoo_delete_op_init(&ops[count++], other->path, other->version);
    }
    flight_take_off(lock, STEP_REMOVE, 1);
    session_multi(lock->session, lock_tag(lock, TAG_MULTI), ops, count);
}

void step_back_off(struct lock *lock)
{
    lock->backing_off = true;
    delete_own(lock, STEP_BACK_OFF);
}
