#include "ensemble/session_state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "ensemble/acl.h"

void session_note_disconnected(struct session *session)
{
    if (session->connected)
        session->disconnected_since = clock_now();
    session->connected = false;
}

/* ---- what a request asks for ---- */

/* Operations of all kinds begin with their path, and creates as sets go on with their data. */
static bool has_data(const zoo_op_t *op)
{
    return op->type == ZOO_CREATE_OP || op->type == ZOO_SETDATA_OP;
}

static void copy_op(zoo_op_t *op)
{
    op->check_op.path = xstrdup(op->check_op.path);
    if (has_data(op))
        op->set_op.data = op->set_op.datalen > 0
                              ? xstrndup(op->set_op.data, (size_t)op->set_op.datalen)
                              : xstrdup("");
}

static void free_op(const zoo_op_t *op)
{
    free((char *)op->check_op.path);
    if (has_data(op))
        free((char *)op->set_op.data);
}

struct ask *ask_copy(const struct ask *ask)
{
    struct ask *own = xcalloc(1, sizeof(*own));

    *own = *ask;
    own->path = ask->path ? xstrdup(ask->path) : NULL;
    own->data = ask->data ? xstrdup(ask->data) : NULL;
    own->acl = acl_copy(ask->acl);
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
    acl_free((struct ACL_vector *)ask->acl);
    free(ask);
}

void ask_set_waiting(struct item *item, bool waiting)
{
    if (item->waiting == waiting)
        return;
    item->waiting = waiting;
    item->session->waiting_len += waiting ? 1 : (size_t)-1;
}

/* ---- the queue ---- */

struct item *item_new(struct session *session, enum session_event_type type)
{
    struct item *item = xcalloc(1, sizeof(*item));

    item->session = session;
    item->event.type = type;
    return item;
}

void item_free(struct item *item)
{
    if (!item)
        return;
    for (size_t i = 0; i < item->event.children_len; i++)
        free(item->children[i]);
    free(item->children);
    free(item->path);
    free(item->data);
    acl_free(item->acl);
    free(item->results);
    ask_free(item->ask);
    free(item);
}

void item_wake(struct session *session)
{
    const uint64_t one = 1;

    if (write(session->event_fd, &one, sizeof(one)) < 0)
        abort(); /* cannot happen: the counter would have to reach 2^64 */
}

void item_push(struct item *item)
{
    struct session *session = item->session;

    pthread_mutex_lock(&session->mutex);
    item->next = NULL;
    *session->tail = item;
    session->tail = &item->next;
    pthread_mutex_unlock(&session->mutex);
    item_wake(session);
}

struct item *item_pop(struct session *session)
{
    pthread_mutex_lock(&session->mutex);

    struct item *item = session->head;

    if (item) {
        session->head = item->next;
        if (!session->head)
            session->tail = &session->head;
    }
    pthread_mutex_unlock(&session->mutex);
    return item;
}

void item_drop_events(struct session *session, bool replies)
{
    struct item *next;

    pthread_mutex_lock(&session->mutex);

    struct item *item = session->head;

    session->head = NULL;
    session->tail = &session->head;
    pthread_mutex_unlock(&session->mutex);
    for (; item; item = next) {
        next = item->next;
        if (item->event.type != SESSION_REPLY)
            item_free(item);
        else if (!replies)
            item_push(item);
    }
}
