/*
 * A visit to the ensemble to look at locks or to step in: a session and its events, without keeper
 * or guard.
 *
 *     admin_start()
 *     session_get(admin.session, tag, ...), ...   ask, see session.h
 *     admin_next() until the answers are there
 *     admin_end()                                 in any case
 *
 * One thread; a process has one visit.
 */
#ifndef ZKFLOCK_ADMIN_H
#define ZKFLOCK_ADMIN_H

#include <poll.h>

#include "config/options.h"
#include "ensemble/session.h"

struct view;

struct admin {
    const struct options *options;
    struct session *session;
    int signal_fd;
    int ended_by; /* the signal that ends the visit; 0: none */

    /* The user's, from after admin_start() on. */
    struct pollfd also;            /* a further descriptor to wait for; fd -1: none */
    void (*stopping)(void *whose); /* called before the process stops, NULL: nothing is */
    void *whose;
};

/*
 * Finds a server and gets a session, within the options' time.  Blocks signals, which admin_next()
 * takes from then on.  Returns 0, or the exit status after a message.
 */
int admin_start(struct admin *admin, const struct options *options);

enum admin_news {
    ADMIN_EVENT,     /* *event holds the session's next event, until the next call */
    ADMIN_TIMEOUT,   /* the deadline is here */
    ADMIN_READY,     /* also.revents says what there is */
    ADMIN_RESIZED,   /* the terminal has another size */
    ADMIN_CONTINUED, /* the process was stopped, and goes on */
    ADMIN_ENDED,     /* a signal or a refusal ends the visit, or did: admin_ended() tells it */
};

/* Waits for what comes next.  deadline: see clock.h. */
enum admin_news admin_next(struct admin *admin, int64_t deadline, struct session_event *event);

/*
 * Says on stderr, under -v, which signal it was, or that the ensemble refuses this client; returns
 * the exit status for it.
 */
int admin_ended(const struct admin *admin);

/* Says that the ensemble does not answer any more; returns the exit status. */
int admin_silent(const struct admin *admin);

/* Says why a lock could not be read, of which a part is unread; returns the exit status. */
int admin_unread(const struct view *view);

void admin_end(struct admin *admin);

#endif
