#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "ensemble/acl.h"
#include "ensemble/session_state.h"

/*
 * A lone request to an idle ensemble now and then gets no answer until any other one reaches that
 * server, and the library does not ping while one is outstanding.  So one that has waited this
 * long gets a companion.
 */
#define COMPANION_AFTER (500 * CLOCK_MS)

/* Tags of users are not negative. */
enum { TAG_COMPANION = -1 };

/* The last millisecond of the year 9999. */
#define LATEST_MS INT64_C(253402300799999)

/* ---- answers, in the library's completion thread ---- */

static int64_t cut(int64_t ms)
{
    return ms < 0 ? 0 : ms > LATEST_MS ? LATEST_MS : ms;
}

static void finish(struct item *item, int rc, const struct Stat *stat)
{
    item->event.rc = rc;
    if (stat && rc == ZOK)
        item->event.stat = *stat;
    item->event.stat.ctime = cut(item->event.stat.ctime);
    item->event.stat.mtime = cut(item->event.stat.mtime);
    item_push(item);
}

/* A peer that is no ZooKeeper server may send a path that is none. */
static void on_create(int rc, const char *path, const struct Stat *stat, const void *context)
{
    struct item *item = (struct item *)context;

    if (rc == ZOK && path && strchr(path, '/'))
        item->path = xstrdup(path);
    else if (rc == ZOK)
        rc = ZMARSHALLINGERROR;
    finish(item, rc, stat);
}

/* A znode that was made without data has the length -1. */
static void on_data(int rc, const char *data, int len, const struct Stat *stat, const void *context)
{
    struct item *item = (struct item *)context;

    if (rc == ZOK) {
        item->event.data_len = data && len > 0 ? (size_t)len : 0;
        item->data = xcalloc(1, item->event.data_len + 1);
        if (item->event.data_len > 0)
            memcpy(item->data, data, item->event.data_len);
    }
    finish(item, rc, stat);
}

/* Returns false if the answer has fewer names than its count says. */
static bool is_whole(const struct String_vector *names)
{
    if (names->count < 0 || (names->count > 0 && !names->data))
        return false;
    for (int i = 0; i < names->count; i++)
        if (!names->data[i])
            return false;
    return true;
}

static void on_children(int rc, const struct String_vector *names, const struct Stat *stat,
                        const void *context)
{
    struct item *item = (struct item *)context;

    if (rc == ZOK && !is_whole(names))
        rc = ZMARSHALLINGERROR;
    if (rc == ZOK) {
        item->event.children_len = (size_t)names->count;
        item->children = xcalloc((size_t)names->count + 1, sizeof(item->children[0]));
        for (int i = 0; i < names->count; i++)
            item->children[i] = xstrdup(names->data[i]);
    }
    finish(item, rc, stat);
}

static void on_acl(int rc, struct ACL_vector *acl, struct Stat *stat, const void *context)
{
    struct item *item = (struct item *)context;

    for (int i = 0; rc == ZOK && i < acl->count; i++)
        if (!acl->data[i].id.scheme || !acl->data[i].id.id)
            rc = ZMARSHALLINGERROR;
    if (rc == ZOK)
        item->acl = acl_copy(acl);
    finish(item, rc, stat);
}

static void on_stat(int rc, const struct Stat *stat, const void *context)
{
    finish((struct item *)context, rc, stat);
}

static void on_string(int rc, const char *value, const void *context)
{
    (void)value;
    finish((struct item *)context, rc, NULL);
}

static void on_void(int rc, const void *context)
{
    struct item *item = (struct item *)context;

    /* Of a multi, the parts before the failed one say ZOK, those behind ZRUNTIMEINCONSISTENCY. */
    for (int i = 0; rc != ZOK && i < item->results_len; i++) {
        int err = item->results[i].err;

        if (err != ZOK && err != ZRUNTIMEINCONSISTENCY) {
            rc = err;
            item->event.failed_op = i;
            break;
        }
    }
    finish(item, rc, NULL);
}

/* Leaves the session's events, of which each watcher hears too, to on_session() in session.c. */
static void on_watch(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    (void)handle;
    (void)state;
    if (type == ZOO_SESSION_EVENT)
        return;

    struct item *item = item_new(context, SESSION_WATCH);

    item->event.watch_type = type;
    item->path = xstrdup(path ? path : "");
    item_push(item);
}

/* ---- requests ---- */

struct item *request_new(struct session *session, int tag)
{
    struct item *item = item_new(session, SESSION_REPLY);

    item->event.tag = tag;
    item->event.sent = item->handed_over = clock_now();
    item->older = session->newest;
    *(session->newest ? &session->newest->newer : &session->oldest) = item;
    session->newest = item;
    return item;
}

bool request_done(struct session *session, struct item *item)
{
    ask_set_waiting(item, false);
    *(item->older ? &item->older->newer : &session->oldest) = item->newer;
    *(item->newer ? &item->newer->older : &session->newest) = item->older;
    return !request_is_companion(item);
}

bool request_is_companion(const struct item *item)
{
    return item->event.tag == TAG_COMPANION;
}

void request_drop_all(struct session *session)
{
    while (session->oldest) {
        struct item *item = session->oldest;

        session->oldest = item->newer;
        ask_set_waiting(item, false);
        item_free(item);
    }
    session->newest = NULL;
}

void request_fail_all(struct session *session)
{
    for (struct item *item = session->oldest; item; item = item->newer) {
        ask_set_waiting(item, false);
        item->event.rc = ZSESSIONEXPIRED;
        item_push(item);
    }
}

int64_t request_accompany(struct session *session)
{
    if (!session->oldest)
        return CLOCK_NEVER;

    int64_t now = clock_now();
    int64_t since = session->oldest->handed_over;

    if (since < session->last_companion)
        since = session->last_companion;
    if (now < since + COMPANION_AFTER)
        return since + COMPANION_AFTER;
    session->last_companion = now;
    request_hand_over(request_new(session, TAG_COMPANION),
                      &(struct ask){.what = ASK_EXISTS, .path = "/"});
    return now + COMPANION_AFTER;
}

/*
 * zoo_amulti() of an expired session frees what it has not initialised, and under a chroot what it
 * has freed before; so it is only called with contact.  It takes a loss of contact, another
 * connection and its refusal to get from there to an expired session.
 */
static int send_multi(struct item *item, const struct ask *ask)
{
    struct session *session = item->session;

    if (zoo_state(session->handle) != ZOO_CONNECTED_STATE) {
        session_note_disconnected(session);
        return ZCONNECTIONLOSS;
    }
    free(item->results);
    item->results = xcalloc((size_t)ask->ops_len, sizeof(item->results[0]));
    item->results_len = ask->ops_len;
    for (int i = 0; i < ask->ops_len; i++)
        if (ask->ops[i].type == ZOO_SETDATA_OP)
            ask->ops[i].set_op.stat = &item->event.stat;
    return zoo_amulti(session->handle, ask->ops_len, ask->ops, item->results, on_void, item);
}

static int send_ask(struct item *item, const struct ask *ask)
{
    struct session *session = item->session;
    zhandle_t *handle = session->handle;
    watcher_fn watcher = ask->watch == SESSION_SET_WATCH ? on_watch : NULL;
    int len = ask->data ? (int)strlen(ask->data) : 0;

    switch (ask->what) {
    case ASK_CREATE:
        return zoo_acreate2(handle, ask->path, ask->data, len,
                            ask->acl ? ask->acl : session->terms.acl, ask->number, on_create, item);
    case ASK_GET:
        return zoo_awget(handle, ask->path, watcher, session, on_data, item);
    case ASK_CHILDREN:
        return zoo_awget_children2(handle, ask->path, watcher, session, on_children, item);
    case ASK_EXISTS:
        return zoo_awexists(handle, ask->path, watcher, session, on_stat, item);
    case ASK_SET:
        return zoo_aset(handle, ask->path, ask->data, len, ask->number, on_stat, item);
    case ASK_DELETE:
        return zoo_adelete(handle, ask->path, -1, on_void, item);
    case ASK_SYNC:
        return zoo_async(handle, ask->path, on_string, item);
    case ASK_MULTI:
        return send_multi(item, ask);
    case ASK_ACL:
        return zoo_aget_acl(handle, ask->path, on_acl, item);
    }
    return ZBADARGUMENTS;
}

void request_hand_over(struct item *item, const struct ask *ask)
{
    int rc = send_ask(item, ask);

    /* The library does not answer what it did not take.  Without a handle the session is about to
     * try again to connect. */
    if (rc != ZOK)
        finish(item, item->session->handle ? rc : ZCONNECTIONLOSS, NULL);
}
