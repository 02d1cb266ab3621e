#include "ensemble/session_state.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "ensemble/handle.h"
#include "ensemble/wire.h"

/*
 * How long a server may take to make a session before the next one is tried.  The library itself
 * would stay with a silent server for two thirds of the session timeout.  Each round through all
 * servers is given twice the time of the one before: a loaded ensemble is not a dead one.
 */
#define FIRST_PATIENCE (700 * CLOCK_MS)

/*
 * How long the first attempts to connect may take.  By TLS a server has more to do.  A loaded one
 * would never be done with handshakes that are broken off, and begun anew, before it has come to
 * them.
 */
static int64_t first_patience(const struct session *session)
{
    return session->relay ? 3 * FIRST_PATIENCE : FIRST_PATIENCE;
}

/* The same after a loss of contact, when a silent server must not use up a short lease. */
static int64_t next_patience(const struct session *session)
{
    int64_t patience = clock_earlier(first_patience(session), session->failover.patience);

    return patience > FIRST_PATIENCE ? patience : FIRST_PATIENCE;
}

/* How long to wait for a handle that could not even begin to connect. */
#define NO_SOCKET_PAUSE (50 * CLOCK_MS)

/* How often the connections of a read-only server are shut down: the library opens others. */
#define READ_ONLY_LOOK (100 * CLOCK_MS)

/* Within this the library's thread has a connection under way, unless it rests after a failure. */
#define FIRST_MOMENT (100 * CLOCK_MS)

bool session_rc_unknown(int rc)
{
    return rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT || rc == ZSESSIONEXPIRED ||
           rc == ZCLOSING || rc == ZINVALIDSTATE || rc == ZSESSIONMOVED ||
           rc == ZRUNTIMEINCONSISTENCY || rc == ZTHROTTLEDOP;
}

/* ---- in the library's threads ---- */

static void on_session(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    struct session *session = context;

    (void)path;
    if (type != ZOO_SESSION_EVENT)
        return;
    if (state == ZOO_READONLY_STATE) {
        trouble_note(&session->trouble, TROUBLE_FAULT, "the server is read-only");
        session->unmade = zoo_client_id(handle)->client_id;
    }
    item_push(item_new(session, state == ZOO_CONNECTED_STATE         ? SESSION_CONNECTED
                                : state == ZOO_EXPIRED_SESSION_STATE ? SESSION_EXPIRED
                                                                     : SESSION_DISCONNECTED));
}

/* ---- opening and closing ---- */

/*
 * Closes the handle, which ends the library's threads, and drops what came through it unread;
 * replies: those of requests, too.  Returns false if it cannot be closed.
 */
static bool drop_handle(struct session *session, bool replies)
{
    pace_end(&session->pace, session->handle);
    session->stuck |= !handle_close(session->handle, &session->failover);
    session->handle = NULL;
    session->resume_at = 0;
    session->established = session->connected = false;
    if (session->stuck)
        return false;
    item_drop_events(session, replies);
    return true;
}

/* Begins to connect by a new handle.  Returns 0, or -1 with errno. */
static int connect_attempt(struct session *session)
{
    char *list = servers_connect_string(session->terms.servers, session->attempt,
                                        session->relay ? relay_ports(session->relay) : NULL);
    unsigned int round = session->attempt / servers_count(session->terms.servers);
    int64_t longest = session->terms.timeout_ms * CLOCK_MS * 2 / 3;
    int64_t patience = first_patience(session) << (round > 10 ? 10 : round);
    clientid_t resumed;
    bool complete = true;
    int error = 0;

    log_debug("connecting to %s", list);
    trouble_begin(&session->trouble);
    session->unmade = session->resumed.id;
    if (session->resumed.id) {
        resumed.client_id = session->resumed.id;
        memcpy(resumed.passwd, session->resumed.password, sizeof(resumed.passwd));
    }
    wire_hold();
    if (handle_threads_available())
        session->handle = zookeeper_init2(list, on_session, session->terms.timeout_ms,
                                          session->resumed.id ? &resumed : NULL, session,
                                          ZOO_NO_LOG_CLIENTENV, trouble_on_log);
    else
        errno = EAGAIN;
    /* Only literals are given to it, which need no looking up again on every turn of its loop. */
    if (!session->handle) {
        trouble_note(&session->trouble, TROUBLE_LOCAL, session_start_fault(error = errno));
    } else {
        zoo_set_servers_resolution_delay(session->handle, -1);
        complete = credentials_add(session->terms.access->credentials, session->handle);
    }
    wire_go_on();
    session->attempt++;
    session->attempt_until = clock_now() + clock_earlier(patience, longest);
    free(list);
    if (!complete) {
        /*
         * Its thread got no socket, which was logged.  It must not go on without credentials, but
         * meanwhile it may have got one, and even a session.
         */
        failover_cut(&session->failover, false);
        drop_handle(session, false);
        session->attempt_until = clock_now() + NO_SOCKET_PAUSE;
        return 0;
    }
    errno = error;
    return session->handle ? 0 : -1;
}

const char *session_start_fault(int error)
{
    return error == EAGAIN ? "no more threads can be started (ulimit -u, pids.max)"
                           : strerror(error);
}

struct session *session_open(const struct session_terms *terms)
{
    return session_resume(terms, &(struct session_identity){0});
}

struct session *session_resume(const struct session_terms *terms,
                               const struct session_identity *identity)
{
    struct session *session = xcalloc(1, sizeof(*session));

    mallopt(M_ARENA_MAX, 1); /* else each of the library's threads gets one of its own */
    session->terms = *terms;
    if (!terms->acl)
        session->terms.acl = &ZOO_OPEN_ACL_UNSAFE;
    session->resumed = *identity;
    session->disconnected_since = clock_now();
    session->tail = &session->head;
    pthread_mutex_init(&session->mutex, NULL);
    session->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    zoo_set_debug_level(log_get_level() >= LOG_LEVEL_DEBUG ? ZOO_LOG_LEVEL_INFO
                                                           : ZOO_LOG_LEVEL_ERROR);
    zoo_deterministic_conn_order(1); /* servers.c has shuffled them */
    /* The library logs a failure, with the time, before it returns errno.  The first look for a
       missing file of the time zone would change that. */
    tzset();
    trouble_init(&session->trouble, terms->access->tls);
    if (terms->access->tls)
        session->relay = relay_start(terms->access->tls, terms->servers, &session->trouble);
    failover_init(&session->failover, &session->trouble, session->relay);
    if (session->event_fd < 0 || (terms->access->tls && !session->relay) ||
        connect_attempt(session) < 0) {
        int error = errno;

        session_close(session);
        errno = error;
        return NULL;
    }
    return session;
}

void session_reopen(struct session *session)
{
    session->generation++;
    session->resumed = (struct session_identity){0};
    /* With the next server first: the last one may give sessions that no other one knows of. */
    session->attempt %= servers_count(session->terms.servers);
    session->disconnected_since = clock_now();
    if (!drop_handle(session, true))
        return;
    request_drop_all(session);
    connect_attempt(session);
}

int session_detach(struct session *session)
{
    int connection = -1;
    int silent = -1;

    /*
     * With a request under way the library could be in the middle of a message.  Through a relay
     * the connection ends with this process.
     */
    if (!session->relay && session->connected && !session->oldest && !session->stuck)
        connection = failover_take(&session->failover, session->handle, &silent);
    session_close(session);
    if (silent >= 0)
        close(silent);
    return connection;
}

void session_close(struct session *session)
{
    if (!session)
        return;
    bool closed = drop_handle(session, true);

    relay_end(session->relay, !closed);
    if (!closed)
        return; /* the library's threads may still use it */
    request_drop_all(session);
    trouble_destroy(&session->trouble);
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
    return session->established ? zoo_recv_timeout(session->handle) : session->terms.timeout_ms;
}

bool session_alive(const struct session *session)
{
    int state = session->handle ? zoo_state(session->handle) : 0;
    int64_t id = session->handle ? zoo_client_id(session->handle)->client_id : 0;

    /* A new one has an ID, also if contact is lost before its event has been handed out. */
    return session->established || state == ZOO_CONNECTED_STATE ||
           (state != ZOO_READONLY_STATE && id != 0 && id != session->unmade);
}

/*
 * The library sends what is queued as soon as it reads that the session is made.  On a connection
 * that is shut down it may still read that, but sends nothing, and then drops what is queued.  In
 * its first moment its thread has no connection yet that could be shut down, and makes one at once.
 */
bool session_withhold(struct session *session)
{
    int64_t deadline = clock_now() + FIRST_MOMENT;

    if (session->refused)
        return false;
    while (session->oldest && !session_alive(session) && !failover_cut(&session->failover, true) &&
           clock_now() < deadline)
        poll(NULL, 0, 1);
    return session_alive(session);
}

int64_t session_id(const struct session *session)
{
    return session->established ? zoo_client_id(session->handle)->client_id : 0;
}

enum session_refusal session_refused(const struct session *session)
{
    return session->refused;
}

bool session_has_credentials(const struct session *session)
{
    return session->terms.access->credentials || tls_has_certificate(session->terms.access->tls);
}

const struct ACL_vector *session_acl(const struct session *session)
{
    return session->terms.acl;
}

unsigned int session_generation(const struct session *session)
{
    return session->generation;
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

void session_set_pacing(struct session *session, bool paced)
{
    session->paced = paced;
}

/* ---- events, for the owner ---- */

/* When the servers may end the session for want of contact. */
static int64_t loss_due(const struct session *session)
{
    return session->disconnected_since + session_timeout_ms(session) * CLOCK_MS;
}

/* Keeps the connection up; returns when to call again. */
static int64_t tick_connection(struct session *session)
{
    int64_t now = clock_now();

    if (!session->established) {
        /*
         * Cut first, or the library could still be given a session, and send what is queued, while
         * the handle is closed: a znode that nobody knows of.  A session that it was given just
         * before is met in the queue, not lost here.
         */
        if (now >= session->attempt_until && !session_alive(session)) {
            failover_cut(&session->failover, true);
            if (session_alive(session))
                return session->attempt_until = now + FIRST_PATIENCE; /* until its event is read */
            if (!drop_handle(session, true))
                return CLOCK_NEVER;
            request_fail_all(session);
            connect_attempt(session); /* a failure is tried again and told by trouble_last() */
        }
        return session->attempt_until;
    }
    if (session->connected || !session->paced)
        pace_end(&session->pace, session->handle);
    if (!session->connected) {
        int64_t look =
            failover_watch_handshake(&session->failover, session->handle, next_patience(session));

        return session->paced ? pace_tick(&session->pace, session->handle, look, loss_due(session))
                              : look;
    }
    if (!session->oldest)
        return CLOCK_NEVER;
    /* The companion may fail at once, and the request with it. */
    return clock_earlier(request_accompany(session),
                         session->oldest ? failover_tick(&session->failover, session->handle,
                                                         session->oldest->handed_over)
                                         : CLOCK_NEVER);
}

int64_t session_tick(struct session *session)
{
    int64_t next;

    if (session->stuck)
        return CLOCK_NEVER;
    next = tick_connection(session);
    if (zoo_state(session->handle) == ZOO_READONLY_STATE) {
        failover_cut(&session->failover, false);
        next = clock_earlier(next, clock_now() + READ_ONLY_LOOK);
    }
    if (session->resume_at && clock_now() >= session->resume_at)
        item_wake(session);
    return session->resume_at ? clock_earlier(next, session->resume_at) : next;
}
