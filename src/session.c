#include "session.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "xalloc.h"

/*
 * How long a server may take to make a session before the next one is tried.  The library itself
 * would stay with a silent server for two thirds of the session timeout.  Each round through all
 * servers is given twice the time of the one before: a loaded ensemble is not a dead one.
 */
#define FIRST_PATIENCE (700 * CLOCK_MS)

/*
 * A lone request to an idle ensemble now and then gets no answer until any other one reaches that
 * server, and the library does not ping while one is outstanding.  So one that has waited this
 * long gets a companion.
 */
#define COMPANION_AFTER (500 * CLOCK_MS)

/* Tags of users are not negative. */
enum { TAG_COMPANION = -1 };

/*
 * What came from the library: filled by its completion thread, then only touched by the owner.
 * A request is one of these from the start; its reply is filled in.
 */
struct item {
    struct item *next; /* in the queue */
    struct item *older, *newer; /* requests under way; the owner's */
    struct session *session;
    struct session_event event;
    char *path;
    char *data;
    char **children;
    zoo_op_result_t *results;
    int results_len;
};

struct session {
    zhandle_t *handle;
    const struct servers *servers;
    int timeout_ms;
    int event_fd;

    pthread_mutex_t mutex; /* of the queue and of trouble */
    struct item *head, **tail;
    char trouble[128];

    /* the owner's */
    struct item *current; /* the event handed out last */
    struct item *oldest, *newest;
    bool connected;
    int64_t disconnected_since;
    unsigned int attempt;
    bool established;        /* there was contact, so the library keeps the session */
    int64_t attempt_until;   /* when to turn to another server */
    int64_t companion_due;
};

bool session_rc_unknown(int rc)
{
    return rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT || rc == ZSESSIONEXPIRED ||
           rc == ZCLOSING || rc == ZINVALIDSTATE || rc == ZSESSIONMOVED;
}

/* ---- the queue ---- */

static void item_free(struct item *item)
{
    if (!item)
        return;
    for (size_t i = 0; i < item->event.children_len; i++)
        free(item->children[i]);
    free(item->children);
    free(item->path);
    free(item->data);
    free(item->results);
    free(item);
}

static struct item *item_new(struct session *session, enum session_event_type type)
{
    struct item *item = xcalloc(1, sizeof(*item));

    item->session = session;
    item->event.type = type;
    return item;
}

static void push(struct item *item)
{
    struct session *session = item->session;
    const uint64_t one = 1;

    pthread_mutex_lock(&session->mutex);
    item->next = NULL;
    *session->tail = item;
    session->tail = &item->next;
    pthread_mutex_unlock(&session->mutex);
    if (write(session->event_fd, &one, sizeof(one)) < 0)
        abort(); /* cannot happen: the counter would have to reach 2^64 */
}

static struct item *pop(struct session *session)
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

/* ---- in the library's threads ---- */

static void on_session(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    (void)handle;
    (void)path;
    if (type == ZOO_SESSION_EVENT)
        push(item_new(context, state == ZOO_CONNECTED_STATE         ? SESSION_CONNECTED
                               : state == ZOO_EXPIRED_SESSION_STATE ? SESSION_EXPIRED
                                                                    : SESSION_DISCONNECTED));
}

/* Watchers of znodes are told of the session's events too; those are on_session()'s. */
static void on_watch(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    (void)handle;
    (void)state;
    if (type == ZOO_SESSION_EVENT)
        return;

    struct item *item = item_new(context, SESSION_WATCH);

    item->event.watch_type = type;
    item->path = xstrdup(path);
    push(item);
}

static void finish(struct item *item, int rc, const struct Stat *stat)
{
    item->event.rc = rc;
    if (stat && rc == ZOK)
        item->event.stat = *stat;
    push(item);
}

static void on_create(int rc, const char *path, const struct Stat *stat, const void *context)
{
    struct item *item = (struct item *)(uintptr_t)context;

    if (rc == ZOK)
        item->path = xstrdup(path);
    finish(item, rc, stat);
}

static void on_data(int rc, const char *data, int len, const struct Stat *stat, const void *context)
{
    struct item *item = (struct item *)(uintptr_t)context;

    if (rc == ZOK && len >= 0) {
        item->event.data_len = (size_t)len;
        item->data = xcalloc(1, (size_t)len + 1);
        if (len > 0)
            memcpy(item->data, data, (size_t)len);
    }
    finish(item, rc, stat);
}

static void on_children(int rc, const struct String_vector *names, const struct Stat *stat,
                        const void *context)
{
    struct item *item = (struct item *)(uintptr_t)context;

    if (rc == ZOK) {
        item->event.children_len = (size_t)names->count;
        item->children = xcalloc((size_t)names->count + 1, sizeof(item->children[0]));
        for (int i = 0; i < names->count; i++)
            item->children[i] = xstrdup(names->data[i]);
    }
    finish(item, rc, stat);
}

static void on_stat(int rc, const struct Stat *stat, const void *context)
{
    finish((struct item *)(uintptr_t)context, rc, stat);
}

static void on_string(int rc, const char *value, const void *context)
{
    (void)value;
    finish((struct item *)(uintptr_t)context, rc, NULL);
}

static void on_void(int rc, const void *context)
{
    struct item *item = (struct item *)(uintptr_t)context;

    /* Of a multi, the parts before the failed one say ZOK, those behind ZRUNTIMEINCONSISTENCY. */
    for (int i = 0; rc != ZOK && i < item->results_len; i++) {
        int err = item->results[i].err;

        if (err != ZOK && err != ZRUNTIMEINCONSISTENCY) {
            rc = err;
            break;
        }
    }
    finish(item, rc, NULL);
}

/*
 * The library's log is the only place that tells why a server could not be used:
 * "...:func@123: Socket 127.0.0.1:1 zk retcode=-4, errno=111(Connection refused): ...".
 */
static void remember_trouble(struct session *session, const char *message)
{
    const char *errno_text = strstr(message, "errno=");
    const char *begin = errno_text ? strchr(errno_text, '(') : NULL;
    const char *end = begin ? strchr(begin, ')') : NULL;

    if (!end)
        return;
    pthread_mutex_lock(&session->mutex);
    snprintf(session->trouble, sizeof(session->trouble), "%.*s", (int)(end - begin - 1), begin + 1);
    pthread_mutex_unlock(&session->mutex);
}

/* The log callback has no context of its own. */
static _Atomic(struct session *) log_session;

static void on_log(const char *message)
{
    struct session *session = atomic_load(&log_session);

    if (session)
        remember_trouble(session, message);
    log_debug("%.*s", (int)strcspn(message, "\n"), message);
}

/* ---- opening and closing ---- */

static int connect_attempt(struct session *session)
{
    char *list = servers_connect_string(session->servers, session->attempt);
    unsigned int round = session->attempt / servers_count(session->servers);
    int64_t longest = session->timeout_ms * CLOCK_MS * 2 / 3;
    int64_t patience = FIRST_PATIENCE << (round > 10 ? 10 : round);

    log_debug("connecting to %s", list);
    atomic_store(&log_session, session);
    session->handle = zookeeper_init2(list, on_session, session->timeout_ms, NULL, session,
                                      ZOO_NO_LOG_CLIENTENV, on_log);
    if (!session->handle)
        snprintf(session->trouble, sizeof(session->trouble), "%s", strerror(errno));
    session->attempt++;
    session->attempt_until = clock_now() + clock_earlier(patience, longest);
    free(list);
    return session->handle ? 0 : -1;
}

struct session *session_open(const struct servers *servers, int timeout_ms)
{
    struct session *session = xcalloc(1, sizeof(*session));

    session->servers = servers;
    session->timeout_ms = timeout_ms;
    session->disconnected_since = clock_now();
    session->companion_due = CLOCK_NEVER;
    session->tail = &session->head;
    pthread_mutex_init(&session->mutex, NULL);
    session->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    zoo_set_debug_level(log_get_level() >= LOG_LEVEL_DEBUG ? ZOO_LOG_LEVEL_INFO
                                                           : ZOO_LOG_LEVEL_ERROR);
    zoo_deterministic_conn_order(1); /* servers.c has shuffled them */
    if (session->event_fd < 0 || connect_attempt(session) < 0) {
        int error = errno;

        session_close(session);
        errno = error;
        return NULL;
    }
    return session;
}

/* Closes the handle and drops everything that came through it; the library's threads have ended. */
static void drop_handle(struct session *session)
{
    if (session->handle)
        zookeeper_close(session->handle);
    session->handle = NULL;

    for (struct item *item = pop(session); item; item = pop(session)) {
        if (item->event.type != SESSION_REPLY)
            item_free(item);
    }
    while (session->oldest) {
        struct item *item = session->oldest;

        session->oldest = item->newer;
        item_free(item);
    }
    session->newest = NULL;
    session->companion_due = CLOCK_NEVER;
}

void session_reopen(struct session *session)
{
    drop_handle(session);
    session->established = session->connected = false;
    session->attempt = 0;
    session->disconnected_since = clock_now();
    connect_attempt(session);
}

void session_close(struct session *session)
{
    if (!session)
        return;
    drop_handle(session);
    atomic_store(&log_session, NULL);
    item_free(session->current);
    if (session->event_fd >= 0)
        close(session->event_fd);
    pthread_mutex_destroy(&session->mutex);
    free(session);
}

int session_fd(const struct session *session)
{
    return session->event_fd;
}

bool session_connected(const struct session *session)
{
    return session->connected;
}

int64_t session_disconnected_since(const struct session *session)
{
    return session->disconnected_since;
}

int session_timeout_ms(const struct session *session)
{
    return session->established ? zoo_recv_timeout(session->handle) : session->timeout_ms;
}

int64_t session_id(const struct session *session)
{
    return session->established ? zoo_client_id(session->handle)->client_id : 0;
}

const char *session_trouble(struct session *session, char *buf, size_t size)
{
    pthread_mutex_lock(&session->mutex);
    snprintf(buf, size, "%s", session->trouble);
    pthread_mutex_unlock(&session->mutex);
    return buf[0] ? buf : NULL;
}

/* ---- events, for the owner ---- */

static void request_done(struct session *session, struct item *item)
{
    *(item->older ? &item->older->newer : &session->oldest) = item->newer;
    *(item->newer ? &item->newer->older : &session->newest) = item->older;
    session->companion_due = session->oldest ? session->oldest->event.sent + COMPANION_AFTER
                                             : CLOCK_NEVER;
}

/* Returns whether the owner is to hear of it. */
static bool note(struct session *session, struct item *item)
{
    switch (item->event.type) {
    case SESSION_CONNECTED:
        session->connected = session->established = true;
        return true;
    case SESSION_DISCONNECTED:
    case SESSION_EXPIRED:
        if (session->connected)
            session->disconnected_since = clock_now();
        session->connected = false;
        return session->established;
    case SESSION_WATCH:
        return true;
    case SESSION_REPLY:
        request_done(session, item);
        return item->event.tag != TAG_COMPANION;
    }
    return false;
}

bool session_next_event(struct session *session, struct session_event *event)
{
    for (;;) {
        struct item *item = pop(session);
        uint64_t count;

        item_free(session->current);
        session->current = item;
        if (!item) {
            /* Nothing was queued; drain the counter, then look again for what came meanwhile. */
            if (read(session->event_fd, &count, sizeof(count)) < 0)
                return false;
            continue;
        }
        if (!note(session, item))
            continue;
        *event = item->event;
        event->path = item->path;
        event->data = item->data;
        event->children = item->children;
        return true;
    }
}

int64_t session_tick(struct session *session)
{
    int64_t now = clock_now();

    if (!session->established) {
        /* A session that the library has just been given is met in the queue, not lost here. */
        if (now >= session->attempt_until && zoo_state(session->handle) != ZOO_CONNECTED_STATE) {
            drop_handle(session);
            connect_attempt(session); /* a failure is tried again and told by session_trouble() */
        }
        return session->attempt_until;
    }
    if (session->connected && now >= session->companion_due) {
        session_exists(session, TAG_COMPANION, "/");
        session->companion_due = now + COMPANION_AFTER;
    }
    return session->connected ? session->companion_due : CLOCK_NEVER;
}

/* ---- requests ---- */

static struct item *request_new(struct session *session, int tag)
{
    struct item *item = item_new(session, SESSION_REPLY);

    item->event.tag = tag;
    item->event.sent = clock_now();
    item->older = session->newest;
    *(session->newest ? &session->newest->newer : &session->oldest) = item;
    session->newest = item;
    if (session->companion_due == CLOCK_NEVER)
        session->companion_due = item->event.sent + COMPANION_AFTER;
    return item;
}

/* rc is what the library said to the request; what it did not take is answered here. */
static void request_sent(struct item *item, int rc)
{
    if (rc != ZOK)
        finish(item, rc, NULL);
}

void session_create(struct session *session, int tag, const char *path, const char *data, int mode)
{
    struct item *item = request_new(session, tag);

    request_sent(item, zoo_acreate2(session->handle, path, data, (int)strlen(data),
                                    &ZOO_OPEN_ACL_UNSAFE, mode, on_create, item));
}

void session_get(struct session *session, int tag, const char *path, enum session_watch watch)
{
    struct item *item = request_new(session, tag);

    request_sent(item, zoo_awget(session->handle, path,
                                 watch == SESSION_SET_WATCH ? on_watch : NULL, session, on_data,
                                 item));
}

void session_get_children(struct session *session, int tag, const char *path)
{
    struct item *item = request_new(session, tag);

    request_sent(item, zoo_aget_children2(session->handle, path, 0, on_children, item));
}

void session_exists(struct session *session, int tag, const char *path)
{
    struct item *item = request_new(session, tag);

    request_sent(item, zoo_aexists(session->handle, path, 0, on_stat, item));
}

void session_set(struct session *session, int tag, const char *path, const char *data)
{
    struct item *item = request_new(session, tag);

    request_sent(item, zoo_aset(session->handle, path, data, (int)strlen(data), -1, on_stat, item));
}

void session_delete(struct session *session, int tag, const char *path)
{
    struct item *item = request_new(session, tag);

    request_sent(item, zoo_adelete(session->handle, path, -1, on_void, item));
}

void session_sync(struct session *session, int tag, const char *path)
{
    struct item *item = request_new(session, tag);

    request_sent(item, zoo_async(session->handle, path, on_string, item));
}

void session_multi(struct session *session, int tag, const zoo_op_t *ops, int count)
{
    struct item *item = request_new(session, tag);

    item->results = xcalloc((size_t)count, sizeof(item->results[0]));
    item->results_len = count;
    request_sent(item, zoo_amulti(session->handle, count, ops, item->results, on_void, item));
}
