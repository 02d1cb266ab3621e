#include "list/admin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "ensemble/contact.h"
#include "ensemble/fault.h"
#include "list/screen.h"
#include "process/signals.h"

/* Says why, which it frees; returns the exit status. */
static int fail(enum exitcode status, char *why)
{
    log_error("%s", why);
    free(why);
    return (int)status;
}

int admin_ended(const struct admin *admin)
{
    if (!admin->ended_by)
        return fail(EXITCODE_NOPERM, contact_refused(admin->session));
    log_info("ended by signal %d (%s)", admin->ended_by, strsignal(admin->ended_by));
    return EXITCODE_SIGNAL + admin->ended_by;
}

int admin_silent(const struct admin *admin)
{
    return fail(EXITCODE_UNREACHABLE, session_overloaded(admin->session)
                                          ? contact_overloaded(admin->session)
                                          : contact_lost(admin->session, NULL));
}

int admin_failed(int rc, const char *what, const char *path)
{
    return fail(fault_status(rc), fault_sentence(rc, what, path));
}

/* Returns ADMIN_EVENT if the signal changes nothing. */
static enum admin_news take_signal(struct admin *admin)
{
    struct signals_received received;

    if (!signals_next(admin->signal_fd, &received))
        return ADMIN_EVENT;
    if (received.number == SIGWINCH)
        return ADMIN_RESIZED;
    if (signals_stop(received.number)) {
        if (admin->screen)
            screen_leave(admin->screen);
        signals_stop_self(received.number);
        return ADMIN_CONTINUED;
    }
    if (!signals_end(received.number))
        return ADMIN_EVENT;
    admin->ended_by = received.number;
    return ADMIN_ENDED;
}

static int await_contact(struct admin *admin, int64_t deadline)
{
    struct session_event event;

    while (!session_connected(admin->session)) {
        enum admin_news news = admin_next(admin, deadline, &event);

        if (news == ADMIN_TIMEOUT)
            return fail(contact_unreachable_status(admin->session),
                        contact_unreachable(admin->session, admin->options->connect_timeout));
        if (news == ADMIN_ENDED)
            return admin_ended(admin);
    }
    return 0;
}

/*
 * Below a chroot that does not exist no lock would be found, as if nobody had one.  To complete a
 * name is no matter of that.
 */
static int refuse_missing_chroot(struct admin *admin, int64_t deadline)
{
    bool asked = false;
    struct session_event event = {0};

    if (!servers_chroot(admin->options->servers)[0] || admin->options->names_only)
        return 0;
    for (;;) {
        if (!asked && session_connected(admin->session)) {
            session_exists(admin->session, 0, "/");
            asked = true;
        }

        int status = admin_await_event(admin, deadline, &event);

        if (status)
            return status;
        if (event.type == SESSION_EXPIRED) {
            session_reopen(admin->session);
            asked = false;
        } else if (event.type == SESSION_REPLY) {
            if (event.rc == ZNONODE)
                return fail(EXITCODE_CONFIG, contact_no_chroot(admin->session));
            if (!session_rc_unknown(event.rc))
                return 0;
            asked = false;
        }
    }
}

int admin_start(struct admin *admin, const struct options *options)
{
    int64_t deadline = clock_add(clock_now(), options->connect_timeout);
    struct session_terms terms;
    sigset_t mask;
    bool ignored;
    char *fault;
    int status;

    *admin = (struct admin){
        .options = options, .signal_fd = signals_block(&mask, &ignored), .also = {.fd = -1}};
    if (admin->signal_fd < 0) {
        log_error("cannot start: %s", strerror(errno));
        return EXITCODE_OSERR;
    }
    status = access_open(&admin->access, &options->access, &fault);
    if (status)
        return fail((enum exitcode)status, fault);
    while (servers_resolve(options->servers, deadline, admin->signal_fd, &fault) < 0) {
        if (fault)
            return fail(EXITCODE_UNREACHABLE, fault);
        if (take_signal(admin) == ADMIN_ENDED)
            return admin_ended(admin);
    }
    terms = options_session_terms(options, &admin->access);
    admin->session = session_open(&terms);
    if (!admin->session)
        return fail(EXITCODE_OSERR, contact_not_started(errno));
    status = await_contact(admin, deadline);
    return status ? status : refuse_missing_chroot(admin, deadline);
}

enum admin_news admin_next(struct admin *admin, int64_t deadline, struct session_event *event)
{
    struct pollfd fds[] = {
        {.fd = admin->signal_fd, .events = POLLIN},
        {.fd = session_fd(admin->session), .events = POLLIN},
        admin->also,
    };

    for (;;) {
        int64_t tick = session_tick(admin->session);

        if (admin->ended_by || session_refused(admin->session))
            return ADMIN_ENDED;
        /* First: there may be events without end. */
        if (poll(fds, 1, 0) > 0) {
            enum admin_news news = take_signal(admin);

            if (news != ADMIN_EVENT)
                return news;
        }
        if (session_next_event(admin->session, event))
            return ADMIN_EVENT;

        bool due = clock_now() >= deadline; /* what has come by now goes first */

        if (poll(fds, 3, clock_poll_timeout(clock_earlier(deadline, tick))) < 0)
            continue;
        if (fds[0].revents)
            continue;
        admin->also.revents = fds[2].revents;
        if (fds[2].revents)
            return ADMIN_READY;
        if (due && !fds[1].revents)
            return ADMIN_TIMEOUT;
    }
}

int admin_await_event(struct admin *admin, int64_t deadline, struct session_event *event)
{
    for (;;) {
        enum admin_news news = admin_next(admin, deadline, event);

        if (news == ADMIN_EVENT)
            return 0;
        if (news == ADMIN_TIMEOUT)
            return admin_silent(admin);
        if (news == ADMIN_ENDED)
            return admin_ended(admin);
    }
}

void admin_end(struct admin *admin)
{
    session_close(admin->session);
    admin->session = NULL;
    access_close(&admin->access);
    if (admin->signal_fd >= 0)
        close(admin->signal_fd);
}
