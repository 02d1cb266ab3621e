#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ensemble/fault.h"
#include "ensemble/session_state.h"

/* A server that refuses a client just closes the connection. */
#define CLOSED                                                                                     \
    "the server closed the connection, as one does that has no majority, is read-only or full "
static const char closed[] = CLOSED "(maxClientCnxns), or expects TLS";
static const char closed_tls[] = CLOSED "(maxClientCnxns)";

/* See wire.c. */
static const char unsound[] = "the server sent what is no reply of ZooKeeper";

void trouble_note(struct session *session, const char *text, bool lacking)
{
    pthread_mutex_lock(&session->mutex);
    session->lacking = lacking;
    session->left = true;
    snprintf(session->trouble, sizeof(session->trouble), "%s", text);
    pthread_mutex_unlock(&session->mutex);
}

void trouble_forget(struct session *session)
{
    pthread_mutex_lock(&session->mutex);
    session->lacking = session->left = false;
    session->trouble[0] = '\0';
    pthread_mutex_unlock(&session->mutex);
}

/* The library calls an end of file EHOSTDOWN. */
static bool was_closed(long error)
{
    return error == EHOSTDOWN || error == ECONNRESET || error == EPIPE;
}

/*
 * The library's log is the only place that tells why a server could not be used:
 * "...:func@123: Socket 127.0.0.1:1 zk retcode=-4, errno=111(Connection refused): ...".
 */
static void remember(struct session *session, const char *message)
{
    const char *errno_text = strstr(message, "errno=");
    const char *begin = errno_text ? strchr(errno_text, '(') : NULL;
    const char *end = begin ? strchr(begin, ')') : NULL;

    if (!end)
        return;

    long error = strtol(errno_text + strlen("errno="), NULL, 10);
    bool was_cut = was_closed(error) && atomic_exchange(&session->failover.cut, false);

    pthread_mutex_lock(&session->mutex);
    if (error == EBADMSG) {
        session->lacking = false;
        session->left = true;
        snprintf(session->trouble, sizeof(session->trouble), "%s", unsound);
    } else if (!was_closed(error)) {
        session->left = false;
        session->lacking = fault_is_lack(error);
        snprintf(session->trouble, sizeof(session->trouble), "%.*s", (int)(end - begin - 1),
                 begin + 1);
    } else if (!session->left) {
        session->lacking = false;
        snprintf(session->trouble, sizeof(session->trouble), "%s",
                 was_cut          ? "the server does not answer"
                 : session->relay ? closed_tls
                                  : closed);
    }
    pthread_mutex_unlock(&session->mutex);
}

/* The log callback has no context of its own. */
static _Atomic(struct session *) log_session;

void trouble_listen(struct session *session)
{
    atomic_store(&log_session, session);
}

void trouble_on_log(const char *message)
{
    struct session *session = atomic_load(&log_session);

    if (session)
        remember(session, message);
    /* Without the time, pid and thread in front, and the newline behind some of them. */
    const char *text = strstr(message, "ZOO_");

    text = text ? text : message;
    log_library("%.*s", (int)strcspn(text, "\n"), text);
}

bool trouble_is_exact(struct session *session)
{
    pthread_mutex_lock(&session->mutex);

    bool left = session->left;

    pthread_mutex_unlock(&session->mutex);
    return left;
}

bool trouble_last(struct session *session, char text[TROUBLE_SIZE])
{
    pthread_mutex_lock(&session->mutex);
    snprintf(text, TROUBLE_SIZE, "%s%s", session->trouble[0] ? ": " : "", session->trouble);

    bool lacking = session->lacking;

    pthread_mutex_unlock(&session->mutex);
    return lacking;
}
