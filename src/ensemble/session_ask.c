#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "ensemble/session_state.h"

/* After it has refused a request, a server counts as overloaded for so long. */
#define RECOVERED_AFTER (5 * CLOCK_S)

bool session_overloaded(const struct session *session)
{
    return session->overloaded_at && clock_now() < session->overloaded_at + RECOVERED_AFTER;
}

void ask_set_waiting(struct item *item, bool waiting)
{
    if (item->waiting == waiting)
        return;
    item->waiting = waiting;
    item->session->waiting_len += waiting ? 1 : (size_t)-1;
}

static char *copy_bytes(const char *bytes, int len)
{
    return bytes && len > 0 ? xstrndup(bytes, (size_t)len) : xstrdup("");
}

static void copy_op(zoo_op_t *op)
{
    if (op->type == ZOO_CREATE_OP) {
        op->create_op.path = xstrdup(op->create_op.path);
        op->create_op.data = copy_bytes(op->create_op.data, op->create_op.datalen);
    } else if (op->type == ZOO_SETDATA_OP) {
        op->set_op.path = xstrdup(op->set_op.path);
        op->set_op.data = copy_bytes(op->set_op.data, op->set_op.datalen);
    } else if (op->type == ZOO_DELETE_OP) {
        op->delete_op.path = xstrdup(op->delete_op.path);
    } else {
        op->check_op.path = xstrdup(op->check_op.path);
    }
}

static void free_op(const zoo_op_t *op)
{
    if (op->type == ZOO_CREATE_OP) {
        free((char *)op->create_op.path);
        free((char *)op->create_op.data);
    } else if (op->type == ZOO_SETDATA_OP) {
        free((char *)op->set_op.path);
        free((char *)op->set_op.data);
    } else if (op->type == ZOO_DELETE_OP) {
        free((char *)op->delete_op.path);
    } else {
        free((char *)op->check_op.path);
    }
}

static struct ask *copy(const struct ask *ask)
{
    struct ask *own = xcalloc(1, sizeof(*own));

    *own = *ask;
    own->path = ask->path ? xstrdup(ask->path) : NULL;
    own->data = ask->data ? xstrdup(ask->data) : NULL;
    if (ask->ops) {
        zoo_op_t *ops = xcalloc((size_t)ask->ops_len, sizeof(ops[0]));

        memcpy(ops, ask->ops, (size_t)ask->ops_len * sizeof(ops[0]));
        for (int i = 0; i < ask->ops_len; i++)
            copy_op(&ops[i]);
        own->ops = ops;
    }
    return own;
}

void ask_free(struct ask *ask)
{
    if (!ask)
        return;
    for (int i = 0; i < ask->ops_len; i++)
        free_op(&ask->ops[i]);
    free((zoo_op_t *)ask->ops);
    free((char *)ask->path);
    free((char *)ask->data);
    free(ask);
}

void ask_make(struct session *session, struct item *item, const struct ask *ask)
{
    if (!session_overloaded(session) && session->waiting_len == 0) {
        ask_hand_over(item, ask);
        return;
    }
    item->ask = copy(ask);
    ask_set_waiting(item, true);
    ask_next(session);
}

void ask_next(struct session *session)
{
    struct item *item = session->oldest;

    while (item && request_is_companion(item))
        item = item->newer;
    if (session->resume_at || !item || !item->waiting)
        return;
    ask_set_waiting(item, false);
    item->handed_over = clock_now();
    ask_hand_over(item, item->ask);
}

bool ask_again(struct item *item)
{
    if (!item->ask)
        return false;
    ask_set_waiting(item, true);
    return true;
}
