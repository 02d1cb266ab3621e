/*
 * A visit to the ensemble, to look at locks or to step in: a session and its events, without a
 * keeper or a guard.
 *
 *     admin_start()
 *     session_get(admin.session, tag, ...), ...   ask, see session.h
 *     admin_next() until the answers are there
 *     admin_end()                                 in any case
 *
 * One thread; a process makes one visit.
 */
#ifndef ZKFLOCK_ADMIN_H
#define ZKFLOCK_ADMIN_H

#include <poll.h>

#include "config/options.h"
#include "ensemble/session.h"

struct screen;

struct admin {
    const struct options *options;
    struct access access;
    struct session *session;
    int signal_fd;
    int ended_by; /* the signal that ends the visit; 0: none */

    /* To be set after admin_start(). */
    struct pollfd also;    /* a further descriptor to wait for; fd -1: none */
    struct screen *screen; /* left before the process stops; or NULL */
};

/*
 * Finds a server and opens a session, within the connect timeout, and makes sure that the chroot
 * exists.  Blocks signals, which admin_next() takes from then on.  Returns 0, or the exit status
 * after a message.
 */
int admin_start(struct admin *admin, const struct options *options);

enum admin_news {
    ADMIN_EVENT,     /* *event holds the session's next event, until the next call */
    ADMIN_TIMEOUT,   /* the deadline has come */
    ADMIN_READY,     /* also.revents says for what */
    ADMIN_RESIZED,   /* the terminal has another size */
    ADMIN_CONTINUED, /* the process was stopped, and goes on */
    ADMIN_ENDED,     /* a signal or a refusal ends the visit, or has: call admin_ended() */
};

/* Waits for what comes next.  deadline: see clock.h. */
enum admin_news admin_next(struct admin *admin, int64_t deadline, struct session_event *event);

/*
 * Waits for the session's next event, and for nothing else.  Returns 0, or the exit status after a
 * message: the deadline has come, or the visit has ended.
 */
int admin_await_event(struct admin *admin, int64_t deadline, struct session_event *event);

/*
 * Logs which signal ended the visit, or reports that the ensemble refuses this client; returns the
 * exit status for it.
 */
int admin_ended(const struct admin *admin);

/* Reports that the ensemble does not answer any more; returns the exit status. */
int admin_silent(const struct admin *admin);

/* Reports why the ensemble refused a request, see fault_sentence(); returns the exit status. */
int admin_failed(int rc, const char *what, const char *path);

void admin_end(struct admin *admin);

#endif
