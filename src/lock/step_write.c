/*
 * The steps that write to the lock's znode, or delete it or the own one.
 */
#include "lock/lock_parts.h"

#include <string.h>

#include "base/xalloc.h"

/*
 * Makes the part of a transaction that proves that the own znode is there.  It writes the mark
 * anew, which has the next waiter read the count again, see queue_watching().  Returns the data, to
 * be freed.
 */
static char *set_own_op(const struct lock *lock, zoo_op_t *op)
{
    char *data = step_own_data(lock, CONTENDER_HELD, 0);

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
