#include <malloc.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "ensemble/session_state.h"

/*
 * An overloaded server is spared for so long, and each time for twice as long as before until it
 * has served for SESSION_RECOVERED_AFTER.  The longest is short beside the shortest lease.
 */
#define FIRST_PAUSE (100 * CLOCK_MS)
#define LONGEST_PAUSE (200 * CLOCK_MS)

/* Names in a list whose memory is worth giving back. */
#define LONG_LIST 100

void session_spare(struct session *session)
{
    int64_t now = clock_now();

    if (session->resume_at)
        return;
    session->pause = now < session->spared_until + SESSION_RECOVERED_AFTER
                         ? clock_earlier(2 * session->pause, LONGEST_PAUSE)
                         : FIRST_PAUSE;
    session->resume_at = session->spared_until = now + session->pause;
    session_note_disconnected(session);
}

/* How often a server that was turned from is left once more, if the others cannot be reached. */
enum { TURNS_MAX = 3 };

/* The server behind a port of the relay; NULL: none is. */
static const char *name_gate(const struct session *session, const char *port)
{
    const uint16_t *ports = relay_ports(session->relay);

    for (size_t i = 0; i < servers_count(session->terms.servers); i++)
        if (ports[i] == strtoul(port, NULL, 10))
            return servers_address(session->terms.servers, i);
    return NULL;
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
    if (session->relay)
        return name_gate(session, port);
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

void session_turn(struct session *session)
{
    char name[NI_MAXHOST + NI_MAXSERV];
    const char *server = name_server(session, name, sizeof(name));

    session->turns = 0;
    snprintf(session->turned_from, sizeof(session->turned_from), "%s", server ? server : "");
    if (failover_leave(&session->failover, session->handle, false))
        session_note_disconnected(session); /* the event of it follows */
    else
        session_spare(session);
}

/*
 * The library may come back to the server that was turned from: after an attempt that failed it
 * passes over one (ZOOKEEPER-2466).  Returns whether it was left again, and the owner waits on.
 */
static bool turns_again(struct session *session)
{
    char name[NI_MAXHOST + NI_MAXSERV];
    const char *server;

    if (!session->turned_from[0])
        return false;
    server = name_server(session, name, sizeof(name));
    if (server && strcmp(server, session->turned_from) == 0 && session->turns++ < TURNS_MAX &&
        failover_leave(&session->failover, session->handle, false)) {
        session_note_disconnected(session);
        return true;
    }
    session->turned_from[0] = '\0';
    return false;
}

/* Takes in a reply; returns whether the owner is to hear of it. */
static bool note_reply(struct session *session, struct item *item)
{
    bool of_user;

    /* The library, not a server, says so: it got no socket, and drops what was queued. */
    if (item->event.rc == ZSYSTEMERROR && !session->connected)
        item->event.rc = ZCONNECTIONLOSS;
    if (item->event.rc == ZTHROTTLEDOP) {
        log_debug("the server is overloaded and has not carried out a request");
        session->overloaded_at = clock_now();
        session_spare(session);
        if (item->ask) { /* else its owner makes it again */
            ask_set_waiting(item, true);
            session->current = NULL;
            return false;
        }
    }
    if (!session_rc_unknown(item->event.rc))
        trouble_forget(&session->trouble);
    of_user = request_done(session, item);
    ask_next(session);
    if (item->event.rc != ZSESSIONCLOSEDREQUIRESASLAUTH)
        return of_user;
    session->refused = SESSION_WANTS_CREDENTIALS;
    return false;
}

/* Takes in an event; returns whether the owner is to hear of it. */
static bool note(struct session *session, struct item *item)
{
    switch (item->event.type) {
    case SESSION_CONNECTED:
        session->resume_at = 0;
        note_connected(session);
        failover_connected(&session->failover);
        if (turns_again(session))
            return false;
        ask_next(session);
        return true;
    case SESSION_DISCONNECTED:
    case SESSION_EXPIRED:
        if (zoo_state(session->handle) == ZOO_AUTH_FAILED_STATE)
            session->refused = SESSION_REFUSES_CREDENTIALS;
        session->resume_at = 0;
        session_note_disconnected(session);
        return session->established || session->resumed.id;
    case SESSION_WATCH:
        return true;
    case SESSION_REPLY:
        return note_reply(session, item);
    }
    return false;
}

/* Returns whether the server has been spared for long enough. */
static bool resumes(struct session *session)
{
    if (!session->resume_at || clock_now() < session->resume_at)
        return false;
    session->resume_at = 0;
    session->connected = true;
    ask_next(session);
    return true;
}

/*
 * Frees the event handed out last.  The memory of a long list goes back to the kernel, or a waiter
 * would keep it; one event later, when the library's thread has freed its copy, too.
 */
static void drop_current(struct session *session)
{
    if (!session->current)
        return;

    bool long_list = session->current->event.children_len >= LONG_LIST;

    item_free(session->current);
    session->current = NULL;
    if (session->had_long_list)
        malloc_trim(0);
    session->had_long_list = long_list;
}

bool session_next_event(struct session *session, struct session_event *event)
{
    for (;;) {
        struct item *item = session->stuck ? NULL : item_pop(session);
        uint64_t count;

        drop_current(session);
        session->current = item;
        if (!item) {
            if (resumes(session)) {
                *event = (struct session_event){.type = SESSION_CONNECTED};
                return true;
            }
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
        event->acl = item->acl;
        return true;
    }
}
