#include "keeper_state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "signals.h"
#include "xalloc.h"

/* How long to try to give a lock back when there is no answer; then its session has to expire. */
#define GIVE_BACK_PATIENCE (5 * CLOCK_S)

/*
 * A closed stdin, stdout or stderr would be taken over by the next descriptor opened.  The
 * stand-in is close-on-exec: the command finds it closed as the caller left it.
 */
static void fill_standard_descriptors(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
            return;
}

struct keeper *keeper_start(const struct options *options, struct command *command)
{
    struct keeper *keeper = xcalloc(1, sizeof(*keeper));

    keeper->options = options;
    keeper->command = command;
    keeper->started_at = clock_now();
    fill_standard_descriptors();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    command->inherited.process_group = getpgrp();
    keeper->signal_fd = signals_block(&command->inherited.mask, &command->inherited.ignores_child);
    if (keeper->signal_fd < 0 || guard_start(&keeper->guard, command, options->lock) < 0) {
        log_error("cannot start: %s", strerror(errno));
        free(keeper);
        return NULL;
    }
    return keeper;
}

/* ---- the events of all sources ---- */

static void reap_guard(struct keeper *keeper)
{
    pid_t pid;

    /* Others than the guard are orphans that a dead guard left to us. */
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        if (pid == keeper->guard.pid)
            keeper->guard_dead = true;
}

static void take_signal(struct keeper *keeper, const struct signals_received *received)
{
    int number = received->number;

    if (number == SIGCHLD) {
        reap_guard(keeper);
    } else if (keeper->running) {
        if (signals_to_forward(received))
            guard_signal(&keeper->guard, number);
    } else if (signals_stop(number)) {
        signals_stop_self(number);
    } else if (signals_end(number) && !keeper->ended_by) {
        keeper->ended_by = number;
    }
}

static void take_report(struct keeper *keeper, const struct guard_message *report)
{
    switch ((enum guard_report)report->type) {
    case GUARD_NOT_STARTED:
        keeper->exec_error = report->number;
        break;
    case GUARD_STOPPED:
        /* As under flock(1): the job stops with its command.  SIGSTOP was meant for it alone. */
        if (signals_stop(report->number))
            signals_stop_self(report->number);
        break;
    case GUARD_EXITED:
        keeper->exited = true;
        keeper->wait_status = report->number;
        break;
    case GUARD_LEASE_OVER:
        keeper->lease_over = true;
        break;
    case GUARD_EMPTY:
        keeper->tree_empty = true;
        break;
    }
}

void keeper_take_signals(struct keeper *keeper)
{
    struct signals_received received;

    while (signals_next(keeper->signal_fd, &received))
        take_signal(keeper, &received);
}

void keeper_pump(struct keeper *keeper, int64_t deadline)
{
    struct guard_message report;
    struct session_event event;
    struct pollfd fds[] = {
        {.fd = keeper->signal_fd, .events = POLLIN},
        {.fd = keeper->guard_dead ? -1 : keeper->guard.link, .events = POLLIN},
        {.fd = keeper->session ? session_fd(keeper->session) : -1, .events = POLLIN},
    };

    if (keeper->session)
        deadline = clock_earlier(deadline, session_tick(keeper->session));
    if (keeper->lock)
        deadline = clock_earlier(deadline, lock_tick(keeper->lock));
    if (poll(fds, 3, clock_poll_timeout(deadline)) < 0)
        return;
    if (fds[2].revents)
        while (session_next_event(keeper->session, &event))
            if (keeper->lock)
                lock_handle(keeper->lock, &event);
    if (fds[1].revents)
        while (guard_next(&keeper->guard, &report))
            take_report(keeper, &report);
    if (fds[0].revents)
        keeper_take_signals(keeper);
}

/* ---- the end ---- */

bool keeper_stop(struct keeper *keeper, int status)
{
    keeper->status = status;
    return false;
}

bool keeper_ended_by_signal(struct keeper *keeper)
{
    log_info("ended by signal %d (%s)", keeper->ended_by, strsignal(keeper->ended_by));
    return keeper_stop(keeper, EXITCODE_SIGNAL + keeper->ended_by);
}

bool keeper_guard_died(struct keeper *keeper)
{
    log_error("the guard process was killed, so the command was ended");
    return keeper_stop(keeper, EXITCODE_INTERNAL);
}

static void leave_queue(struct keeper *keeper)
{
    int64_t deadline = clock_now() + GIVE_BACK_PATIENCE;

    lock_leave(keeper->lock);
    while (lock_phase(keeper->lock) == LOCK_LEAVING && clock_now() < deadline)
        keeper_pump(keeper, deadline);
    if (lock_phase(keeper->lock) == LOCK_LEAVING && lock_node(keeper->lock))
        log_warning("no answer from the ensemble: %s could not be given back; it comes free when "
                    "the session expires, in %d s at the most",
                    keeper->options->lock, (session_timeout_ms(keeper->session) + 999) / 1000);
}

int keeper_give_back(struct keeper *keeper)
{
    int status = keeper->status;

    /* A lock that is lost for want of contact is not given back by waiting for contact. */
    if (keeper->lock && (!keeper->lost || session_connected(keeper->session)))
        leave_queue(keeper);
    guard_dismiss(&keeper->guard);
    lock_free(keeper->lock);
    session_close(keeper->session);
    if (!keeper->guard_dead)
        waitpid(keeper->guard.pid, NULL, 0);
    close(keeper->guard.link);
    close(keeper->signal_fd);
    free(keeper);
    return status;
}
