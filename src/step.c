#include "lock_state.h"

#include <string.h>

#include "contender.h"
#include "xalloc.h"

void step_make_parents(struct lock *lock)
{
    const struct record fresh = {.base = 0, .lease_ms = lock->record.lease_ms};
    unsigned int depth = 0;
    char text[RECORD_SIZE];

    for (const char *p = lock->path; *p; p++)
        depth += *p == '/';
    record_encode(&fresh, text);
    flight_take_off(lock, STEP_MAKE_PARENTS, depth);
    for (const char *p = strchr(lock->path + 1, '/'); p; p = strchr(p + 1, '/')) {
        char *ancestor = xstrndup(lock->path, (size_t)(p - lock->path));

        session_create(lock->session, TAG_ANCESTOR, ancestor, "", ZOO_PERSISTENT);
        free(ancestor);
    }
    session_create(lock->session, TAG_ANCESTOR, lock->path, text, ZOO_PERSISTENT);
}

void step_join(struct lock *lock)
{
    char *own = xasprintf("%s/_c_%s-lock-", lock->path, lock->guid);

    lock->phase = LOCK_JOINING;
    flight_take_off(lock, STEP_JOIN, 2);
    lock->proof_sent = lock->sent;
    lock->waited = false;
    session_create(lock->session, TAG_CREATE, own, contender_encode(CONTENDER_WAITING),
                   ZOO_EPHEMERAL_SEQUENTIAL);
    session_get(lock->session, TAG_PARENT, lock->path, SESSION_NO_WATCH);
    free(own);
}

/* A create whose answer was lost: the sync makes whichever server we are at now know of it. */
void step_find(struct lock *lock)
{
    flight_take_off(lock, STEP_FIND, 3);
    lock->waited = true;
    session_sync(lock->session, TAG_SYNC, lock->path);
    session_get_children(lock->session, TAG_CHILDREN, lock->path);
    session_get(lock->session, TAG_PARENT, lock->path, SESSION_NO_WATCH);
}

void step_list(struct lock *lock)
{
    flight_take_off(lock, STEP_LIST, 3);
    session_exists(lock->session, TAG_OWN, lock->node);
    /* In this order: the list may be older than what the get shows, but not newer. */
    session_get_children(lock->session, TAG_CHILDREN, lock->path);
    session_get(lock->session, TAG_PARENT, lock->path, SESSION_NO_WATCH);
}

void step_watch(struct lock *lock)
{
    flight_take_off(lock, STEP_WATCH, 1);
    session_get(lock->session, TAG_PREDECESSOR, lock->predecessor, SESSION_SET_WATCH);
}

void step_prove(struct lock *lock)
{
    flight_take_off(lock, STEP_PROVE, 2);
    lock->proof_sent = lock->sent;
    session_set(lock->session, TAG_OWN, lock->node, contender_encode(CONTENDER_HELD));
    session_get(lock->session, TAG_PARENT, lock->path, SESSION_NO_WATCH);
}

/* Each set, to the same bytes, adds one to the version and so takes one off the count. */
void step_square(struct lock *lock, uint32_t count)
{
    zoo_op_t ops[2 + LOCK_SQUARE_MAX];
    char text[RECORD_SIZE];
    int len = (int)record_encode(&lock->record, text);

    if (count > LOCK_SQUARE_MAX)
        count = LOCK_SQUARE_MAX;
    zoo_check_op_init(&ops[0], lock->path, lock->census.version);
    zoo_check_op_init(&ops[1], lock->node, -1);
    for (uint32_t i = 0; i < count; i++)
        zoo_set_op_init(&ops[2 + i], lock->path, text, len, -1, NULL);
    flight_take_off(lock, STEP_SQUARE, 1);
    lock->proof_sent = lock->sent;
    session_multi(lock->session, TAG_MULTI, ops, (int)(2 + count));
}

void step_adopt(struct lock *lock)
{
    const struct record adopted = {.base = recipe_base_for_adoption(lock->census),
                                   .lease_ms = lock->record.lease_ms};
    zoo_op_t ops[2];
    char text[RECORD_SIZE];
    int len = (int)record_encode(&adopted, text);

    zoo_set_op_init(&ops[0], lock->path, text, len, lock->census.version, NULL);
    zoo_check_op_init(&ops[1], lock->node, -1);
    lock->record = adopted;
    flight_take_off(lock, STEP_ADOPT, 1);
    lock->proof_sent = lock->sent;
    session_multi(lock->session, TAG_MULTI, ops, 2);
}

void step_read_version(struct lock *lock)
{
    flight_take_off(lock, STEP_READ_VERSION, 1);
    session_get(lock->session, TAG_PARENT, lock->path, SESSION_NO_WATCH);
}

void step_leave(struct lock *lock)
{
    zoo_op_t ops[2];
    char text[RECORD_SIZE];
    int len = (int)record_encode(&lock->record, text);
    int version = ++lock->leave_tries > LOCK_LEAVE_CAUTIOUSLY ? -1 : lock->census.version;

    flight_take_off(lock, STEP_LEAVE, 1);
    if (lock->record_state != RECORD_OURS) {
        session_delete(lock->session, TAG_DELETE, lock->node);
        return;
    }
    zoo_set_op_init(&ops[0], lock->path, text, len, version, NULL);
    zoo_delete_op_init(&ops[1], lock->node, -1);
    session_multi(lock->session, TAG_MULTI, ops, 2);
}
