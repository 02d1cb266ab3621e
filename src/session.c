#include "session_state.h"

#include <errno.h>
#include <malloc.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
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

/* Within this the library's thread has a connection under way, unless it rests after a failure. */
#define FIRST_MOMENT (100 * CLOCK_MS)

bool session_rc_unknown(int rc)
{
    return rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT || rc == ZSESSIONEXPIRED ||
           rc == ZCLOSING || rc == ZINVALIDSTATE || rc == ZSESSIONMOVED ||
           rc == ZRUNTIMEINCONSISTENCY;
}

/* ---- in the library's threads ---- */

static void on_session(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    (void)handle;
    (void)path;
    if (type == ZOO_SESSION_EVENT)
        item_push(item_new(context, state == ZOO_CONNECTED_STATE         ? SESSION_CONNECTED
                                    : state == ZOO_EXPIRED_SESSION_STATE ? SESSION_EXPIRED
                                                                         : SESSION_DISCONNECTED));
}

/* Watchers of znodes are told of the session's events too; those are on_session()'s. */
void session_on_watch(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    (void)handle;
    (void)state;
    if (type == ZOO_SESSION_EVENT)
        return;

    struct item *item = item_new(context, SESSION_WATCH);

    item->event.watch_type = type;
    item->path = xstrdup(path);
    item_push(item);
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
    if (strtol(errno_text + 6, NULL, 10) == EHOSTDOWN) /* so the library says end of file */
        snprintf(session->trouble, sizeof(session->trouble), "the server closed the connection");
    else
        snprintf(session->trouble, sizeof(session->trouble), "%.*s", (int)(end - begin - 1),
                 begin + 1);
    pthread_mutex_unlock(&session->mutex);
}

/* The log callback has no context of its own. */
static _Atomic(struct session *) log_session;

static void on_log(const char *message)
{
    struct session *session = atomic_load(&log_session);

    if (session)
        remember_trouble(session, message);
    /* Without the time, pid and thread in front, and the newline behind some of them. */
    const char *text = strstr(message, "ZOO_");

    text = text ? text : message;
    log_library(text, (int)strcspn(text, "\n"));
}

/* ---- opening and closing ---- */

static int connect_attempt(struct session *session)
{
    char *list = servers_connect_string(session->servers, session->attempt);
    unsigned int round = session->attempt / servers_count(session->servers);
    int64_t longest = session->timeout_ms * CLOCK_MS * 2 / 3;
    int64_t patience = FIRST_PATIENCE << (round > 10 ? 10 : round);
    clientid_t resumed;

    log_debug("connecting to %s", list);
    atomic_store(&log_session, session);
    if (session->resumed.id) {
        resumed.client_id = session->resumed.id;
        memcpy(resumed.passwd, session->resumed.password, sizeof(resumed.passwd));
    }
    session->handle = zookeeper_init2(list, on_session, session->timeout_ms,
                                      session->resumed.id ? &resumed : NULL, session,
                                      ZOO_NO_LOG_CLIENTENV, on_log);
    /* Only literals are given to it, which need no looking up again on every turn of its loop. */
    if (session->handle)
        zoo_set_servers_resolution_delay(session->handle, -1);
    else
        snprintf(session->trouble, sizeof(session->trouble), "%s", strerror(errno));
    session->attempt++;
    session->attempt_until = clock_now() + clock_earlier(patience, longest);
    free(list);
    return session->handle ? 0 : -1;
}

struct session *session_open(const struct servers *servers, int timeout_ms)
{
    return session_resume(servers, timeout_ms, &(struct session_identity){0});
}

struct session *session_resume(const struct servers *servers, int timeout_ms,
                               const struct session_identity *identity)
{
    struct session *session = xcalloc(1, sizeof(*session));

    mallopt(M_ARENA_MAX, 1); /* else each of the library's threads gets one of its own */
    session->servers = servers;
    session->timeout_ms = timeout_ms;
    session->resumed = *identity;
    session->disconnected_since = clock_now();
    session->tail = &session->head;
    pthread_mutex_init(&session->mutex, NULL);
    session->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    zoo_set_debug_level(log_get_level() >= LOG_LEVEL_DEBUG ? ZOO_LOG_LEVEL_INFO
                                                           : ZOO_LOG_LEVEL_ERROR);
    zoo_deterministic_conn_order(1); /* servers.c has shuffled them */
    failover_init(&session->failover);
    if (session->event_fd < 0 || connect_attempt(session) < 0) {
        int error = errno;

        session_close(session);
        errno = error;
        return NULL;
    }
    return session;
}

/* Closes the handle, which ends the library's threads, and drops what came through it unread. */
static void drop_handle(struct session *session)
{
    if (session->handle)
        zookeeper_close(session->handle);
    session->handle = NULL;

    for (struct item *item = item_pop(session); item; item = item_pop(session)) {
        if (item->event.type != SESSION_REPLY)
            item_free(item);
    }
}

void session_reopen(struct session *session)
{
    drop_handle(session);
    request_drop_all(session);
    session->resumed = (struct session_identity){0};
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
    request_drop_all(session);
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

bool session_alive(const struct session *session)
{
    return session->established ||
           (session->handle && zoo_state(session->handle) == ZOO_CONNECTED_STATE);
}

/*
 * The library sends what is queued as soon as it reads that the session is made.  On a connection
 * that is shut down it may still read that, but sends nothing, and then drops what is queued.  In
 * its first moment its thread has no connection yet that could be shut down, and makes one at once.
 */
bool session_withhold(struct session *session)
{
    int64_t deadline = clock_now() + FIRST_MOMENT;

    while (session->oldest && !session_alive(session) && !failover_cut(&session->failover) &&
           clock_now() < deadline)
        poll(NULL, 0, 1);
    return session_alive(session);
}

int64_t session_id(const struct session *session)
{
    return session->established ? zoo_client_id(session->handle)->client_id : 0;
}

void session_turn(struct session *session)
{
    session_note_disconnected(session); /* the event of it follows */
    failover_leave(&session->failover, session->handle);
}

struct session_identity session_identity(const struct session *session)
{
    struct session_identity identity = {0};

    if (session->established) {
        const clientid_t *id = zoo_client_id(session->handle);

        identity.id = id->client_id;
        memcpy(identity.password, id->passwd, sizeof(identity.password));
    }
    return identity;
}

void session_set_patience(struct session *session, int64_t patience)
{
    session->failover.patience = patience;
}

const char *session_trouble(struct session *session, char *buf, size_t size)
{
    pthread_mutex_lock(&session->mutex);
    snprintf(buf, size, "%s", session->trouble);
    pthread_mutex_unlock(&session->mutex);
    return buf[0] ? buf : NULL;
}

/* ---- events, for the owner ---- */

void session_note_disconnected(struct session *session)
{
    if (session->connected)
        session->disconnected_since = clock_now();
    session->connected = false;
}

/* HOST:PORT of the server that the session is at; NULL if it has just left it. */
static const char *name_server(const struct session *session, char *name, size_t size)
{
    struct sockaddr_storage server;
    socklen_t len = sizeof(server);
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];

    if (!zookeeper_get_connected_host(session->handle, (struct sockaddr *)&server, &len) ||
        getnameinfo((struct sockaddr *)&server, len, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return NULL;
    snprintf(name, size, server.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
    return name;
}

static void note_connected(struct session *session)
{
    char name[NI_MAXHOST + NI_MAXSERV];
    const char *server = name_server(session, name, sizeof(name));
    char span[CLOCK_FORMAT_SIZE];
    int64_t took = clock_now() - session->disconnected_since;
    const struct log_field fields[] = {
        {"server", LOG_TEXT, .text = server}, {"took_s", LOG_SPAN, .number = took}, {0}};

    session->connected = session->established = true;
    log_set_session(session_id(session));
    log_event(LOG_CONNECTED, fields, "connected to %s, took %s", server ? server : "a server",
              clock_format(took, span));
}

/* Returns whether the owner is to hear of it. */
static bool note(struct session *session, struct item *item)
{
    switch (item->event.type) {
    case SESSION_CONNECTED:
        note_connected(session);
        failover_connected(&session->failover);
        return true;
    case SESSION_DISCONNECTED:
    case SESSION_EXPIRED:
        session_note_disconnected(session);
        return session->established || session->resumed.id;
    case SESSION_WATCH:
        return true;
    case SESSION_REPLY:
        return request_done(session, item);
    }
    return false;
}

bool session_next_event(struct session *session, struct session_event *event)
{
    for (;;) {
        struct item *item = item_pop(session);
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
        if (now >= session->attempt_until && !session_alive(session)) {
            drop_handle(session);
            request_fail_all(session);
            connect_attempt(session); /* a failure is tried again and told by session_trouble() */
        }
        return session->attempt_until;
    }
    if (!session->connected)
        return failover_watch_handshake(&session->failover, session->handle, FIRST_PATIENCE);
    if (!session->oldest)
        return CLOCK_NEVER;
    /* The companion may fail at once, and the request with it. */
    return clock_earlier(request_accompany(session),
                         session->oldest ? failover_tick(&session->failover, session->handle,
                                                         session->oldest->event.sent)
                                         : CLOCK_NEVER);
}
