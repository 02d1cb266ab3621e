/*
 * What comes from the session, the guard, the front and the kernel.
 */
#include "keeper/keeper_state.h"

#include <poll.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "process/signals.h"
#include "process/tree.h"

/* Between two tries to let in who could not be for want of a descriptor. */
#define CROWDED_PAUSE (CLOCK_S / 4)

static void reap_guard(struct keeper *keeper)
{
    int status;
    pid_t pid;

    /* Others are orphans that a dead guard left to us, and the hook runner, if it was killed. */
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        tree_note_status(&keeper->child, pid, status);
        if (pid == keeper->guard.pid)
            keeper->guard_dead = true;
    }
}

static void take_signal(struct keeper *keeper, const struct signals_received *received)
{
    int number = received->number;

    if (keeper->running && keeper->hold) {
        /* Whoever ends the caller together with all around it means that to be under the lock. */
        if (signals_end(number))
            log_info("%s is held until %s ends; --unlock gives it back", keeper->options->lock,
                     keeper->hold->name);
    } else if (keeper->running) {
        /* What is left of a command that has ended need not have got what the terminal sent. */
        if (keeper->exited && signals_stop(number))
            front_stop(keeper->front, number, false);
        if (signals_to_forward(number))
            guard_signal(&keeper->guard, number,
                         keeper->started && !keeper->exited &&
                             front_group_has(keeper->front, received));
    } else if (signals_stop(number)) {
        keeper_end_wait(keeper);
        /* With the lock in hand proofs have to go on. */
        front_stop(keeper->front, number,
                   !keeper->locks || lockset_phase(keeper->locks) != LOCK_HELD);
    } else if (signals_end(number) && !keeper->ended_by) {
        keeper->ended_by = number;
    }
}

void keeper_hear_front(struct keeper *keeper)
{
    struct signals_received received;

    for (;;) {
        switch (front_next(keeper->front, &received)) {
        case FRONT_NOTHING:
            return;
        case FRONT_SIGNAL:
            take_signal(keeper, &received);
            if (keeper->running)
                return; /* however many come, proofs go on between them */
            break;
        case FRONT_CHILD:
            reap_guard(keeper);
            break;
        case FRONT_DIED:
            keeper->abandoned = true;
            break;
        }
    }
}

static void take_report(struct keeper *keeper, const struct guard_message *report)
{
    switch ((enum guard_report)report->type) {
    case GUARD_FORKED:
        keeper->child.pid = report->number;
        keeper->go_at = report->when;
        break;
    case GUARD_STARTED:
        keeper->started = true;
        break;
    case GUARD_NOT_STARTED:
        keeper->exec_error = report->number;
        break;
    case GUARD_STOPPED:
        /* As under flock(1): the job stops with its command.  SIGSTOP was meant for it alone. */
        if (signals_stop(report->number))
            front_stop(keeper->front, report->number, false);
        break;
    case GUARD_EXITED:
        keeper->exited = true;
        keeper->wait_status = report->number;
        break;
    case GUARD_EXTENDED:
        keeper->guarded_until = report->lease_end;
        break;
    case GUARD_LEASE_OVER:
        keeper->lease_over = true;
        keeper->guarded_until = report->lease_end;
        break;
    case GUARD_LIMIT_OVER:
        keeper->limit_over = true;
        keeper->limit_over_at = report->when;
        keeper->guarded_until = report->lease_end;
        break;
    case GUARD_REFUSED:
        keeper->lease_over = report->number == 0;
        keeper->limit_over = report->number != 0;
        keeper->refused = keeper->tree_empty = true;
        keeper->guarded_until = report->lease_end;
        keeper->empty_at = report->when;
        break;
    case GUARD_CHILDLESS:
        keeper->childless = true;
        break;
    case GUARD_SIGNALLED:
        keeper->signalled = true;
        break;
    case GUARD_EMPTY:
        keeper->tree_empty = true;
        keeper->empty_at = report->when;
        keeper->kill_needed = report->number != 0;
        break;
    }
}

/*
 * Somebody asks for a lock to be given up, by --revoke or as Curator's Revoker does it.  Whoever
 * runs under it gets the signal, once, as if the caller had sent it, and is left alone with it: the
 * lock is not lost.  What has not been started yet never is.
 */
static void heed_revoke(struct keeper *keeper)
{
    const struct options *options = keeper->options;
    enum lock_phase phase = lockset_phase(keeper->locks);
    const char *lock;
    const char *who;
    char signal[SIGNALS_NAME_SIZE];

    if (keeper->revoked || phase == LOCK_LEAVING || phase == LOCK_LEFT || phase == LOCK_LOST)
        return;
    who = lockset_revoked(keeper->locks, &lock);
    if (!who)
        return;
    keeper->revoked = true;
    who = *who ? who : "somebody";
    if (keeper->running) {
        log_notice("%s is sent %s: %s is asked for by %s", keeper->command->argv[0],
                   signals_name(options->signal, signal), lock, who);
        guard_ask(&keeper->guard, options->signal);
    } else {
        log_notice("%s %s: %s is asked for by %s", keeper->command->argv[0],
                   keeper->hold ? "does not get it" : "is not started", lock, who);
        keeper->ended_by = options->signal;
    }
}

static void take_event(struct keeper *keeper, const struct session_event *event)
{
    if (keeper->locks) {
        lockset_handle(keeper->locks, event);
        heed_revoke(keeper);
    }
    if (keeper->outlook)
        outlook_handle(keeper->outlook, event);
    if (keeper->once)
        once_handle(keeper->once, event);
}

/* While the lock is held, the guard does. */
static bool awaits_caller(const struct keeper *keeper)
{
    return keeper->hold && !keeper->running && !keeper->caller_ended;
}

void keeper_pump(struct keeper *keeper, int64_t deadline)
{
    struct guard_message report;
    struct session_event event;
    struct pollfd fds[] = {
        {.fd = keeper->front->signal_fd, .events = POLLIN},
        {.fd = keeper->guard_dead ? -1 : keeper->guard.link, .events = POLLIN},
        {.fd = keeper->session ? session_fd(keeper->session) : -1, .events = POLLIN},
        {.fd = keeper->front->link, .events = POLLIN},
        {.fd = keeper->reentry ? reentry_fd(keeper->reentry) : -1, .events = POLLIN},
        {.fd = awaits_caller(keeper) ? keeper->hold->caller_fd : -1, .events = POLLIN},
    };

    bool crowded = keeper->reentry && reentry_crowded(keeper->reentry);

    if (crowded)
        deadline = clock_earlier(deadline, clock_now() + CROWDED_PAUSE);
    if (keeper->session)
        deadline = clock_earlier(deadline, session_tick(keeper->session));
    if (keeper->locks)
        deadline = clock_earlier(deadline, lockset_tick(keeper->locks));
    if (poll(fds, sizeof(fds) / sizeof(fds[0]), clock_poll_timeout(deadline)) < 0)
        return;
    if (fds[2].revents) {
        while (session_next_event(keeper->session, &event))
            take_event(keeper, &event);
        if (keeper->locks)
            legacy_write(keeper->legacy, keeper->session, keeper->locks, keeper->options->servers);
    }
    if (fds[1].revents)
        while (guard_next(&keeper->guard, &report))
            take_report(keeper, &report);
    if (fds[4].revents || crowded)
        keeper_serve_reentry(keeper);
    if (fds[0].revents || fds[3].revents)
        keeper_hear_front(keeper);
    if (fds[5].revents)
        keeper->caller_ended = true;
}
