/*
 * Takes in what comes from the session, the guard, the front and the kernel.
 */
#include "keeper/keeper_parts.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "process/signals.h"

/* The pause between two tries to let in a zkflock for which there was no descriptor. */
#define CROWDED_PAUSE (CLOCK_S / 4)

static void hear_guard(struct keeper *keeper)
{
    struct guard_message report;

    while (guard_next(&keeper->guard, &report))
        keeper_job_report(keeper, &report);
}

static void reap_guard(struct keeper *keeper)
{
    int status;
    pid_t pid;

    /* Others are orphans of a dead guard, and the hook runner, if it was killed. */
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        keeper_job_reaped(keeper, pid, status);
        if (pid == keeper->guard.pid) {
            hear_guard(keeper); /* its last words */
            keeper->news.guard_dead = true;
        }
    }
}

static void take_signal(struct keeper *keeper, const struct signals_received *received)
{
    int number = received->number;
    bool running = keeper->run.state != RUN_NOT_BEGUN;

    if (running && keeper->hold && keeper->run.state != RUN_LINGERING) {
        /* A signal to all that is around the caller ends the caller too, under the lock. */
        if (signals_end(number))
            log_info("%s is held until %s ends; --unlock releases it", keeper->options->lock,
                     keeper->hold->name);
    } else if (running) {
        /* The terminal need not have reached what is left of a command that has ended. */
        if (keeper->job.state == JOB_EXITED && signals_stop(number))
            front_stop(keeper->front, number, 0, false);
        if (signals_to_forward(number)) {
            bool group_has_it =
                keeper->job.state == JOB_STARTED && front_group_has(keeper->front, received);

            guard_order(&keeper->guard, group_has_it ? GUARD_SIGNAL_OUTSIDE : GUARD_SIGNAL, number);
        }
    } else if (signals_stop(number)) {
        keeper_end_wait(keeper);
        /* With the lock in hand proofs have to go on. */
        front_stop(keeper->front, number, 0,
                   !keeper->try.locks || lockset_phase(keeper->try.locks) != LOCK_HELD);
    } else if (signals_end(number) && !keeper->news.ended_by) {
        keeper->news.ended_by = number;
    }
}

void keeper_kill_guard(struct keeper *keeper)
{
    if (!keeper->news.guard_dead)
        kill(keeper->guard.pid, SIGKILL);
    keeper->news.guard_dead = true;
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
            if (keeper->run.state != RUN_NOT_BEGUN)
                return; /* however many come, proofs go on between them */
            break;
        case FRONT_CHILD:
            reap_guard(keeper);
            break;
        case FRONT_DIED:
            keeper->news.abandoned = true;
            break;
        }
    }
}

/*
 * Passes on, once, that somebody asks for a lock to be given up, by --revoke or as Curator's
 * Revoker does it.  The command gets the signal as if the caller had sent it, and nothing follows:
 * the lock is not lost.  A command that has not been started is not started any more.
 */
static void heed_revoke(struct keeper *keeper)
{
    const struct options *options = keeper->options;
    enum lock_phase phase = lockset_phase(keeper->try.locks);
    const char *lock;
    const char *who;
    char signal[SIGNALS_NAME_SIZE];

    if (keeper->news.revoked || phase == LOCK_LEAVING || phase == LOCK_LEFT || phase == LOCK_LOST)
        return;
    who = lockset_revoked(keeper->try.locks, &lock);
    if (!who)
        return;
    keeper->news.revoked = true;
    who = *who ? who : "somebody";
    if (keeper->run.state != RUN_NOT_BEGUN) {
        log_notice("%s is sent %s: %s is asked for by %s",
                   keeper->run.state == RUN_LINGERING ? "what still runs under the lock"
                                                      : keeper->command->argv[0],
                   signals_name(options->signal, signal), lock, who);
        guard_order(&keeper->guard, GUARD_ASK, options->signal);
    } else {
        log_notice("%s %s: %s is asked for by %s", keeper->command->argv[0],
                   keeper_starts_nothing(keeper) ? "does not get it" : "is not started", lock, who);
        keeper->news.ended_by = options->signal;
    }
}

static void take_event(struct keeper *keeper, const struct session_event *event)
{
    if (keeper->try.locks) {
        lockset_handle(keeper->try.locks, event);
        heed_revoke(keeper);
    }
    if (keeper->wait.outlook)
        outlook_handle(keeper->wait.outlook, event);
    if (keeper->once)
        once_handle(keeper->once, event);
}

/* Returns whether the keeper watches the caller; once the lock is held, the guard does. */
static bool awaits_caller(const struct keeper *keeper)
{
    return keeper->hold && keeper->run.state == RUN_NOT_BEGUN && !keeper->news.caller_ended;
}

void keeper_pump(struct keeper *keeper, int64_t deadline)
{
    struct session_event event;
    struct pollfd fds[] = {
        {.fd = keeper->front->signal_fd, .events = POLLIN},
        {.fd = keeper->news.guard_dead ? -1 : keeper->guard.link, .events = POLLIN},
        {.fd = keeper->try.session ? session_fd(keeper->try.session) : -1, .events = POLLIN},
        {.fd = keeper->front->link, .events = POLLIN},
        {.fd = keeper->users.reentry ? reentry_fd(keeper->users.reentry) : -1, .events = POLLIN},
        {.fd = awaits_caller(keeper) ? keeper->hold->caller_fd : -1, .events = POLLIN},
    };

    bool crowded = keeper->users.reentry && reentry_crowded(keeper->users.reentry);

    if (crowded)
        deadline = clock_earlier(deadline, clock_now() + CROWDED_PAUSE);
    if (keeper->try.locks)
        deadline = clock_earlier(deadline, lockset_tick(keeper->try.locks));
    if (keeper->try.session) {
        session_set_pacing(keeper->try.session,
                           keeper->try.locks && lockset_only_waits(keeper->try.locks));
        /* Last, as it watches also the requests that were just sent. */
        deadline = clock_earlier(deadline, session_tick(keeper->try.session));
    }
    if (poll(fds, sizeof(fds) / sizeof(fds[0]), clock_poll_timeout(deadline)) < 0)
        return;
    if (fds[2].revents) {
        while (session_next_event(keeper->try.session, &event))
            take_event(keeper, &event);
        if (keeper->try.locks)
            legacy_write(keeper->legacy, keeper->try.session, keeper->try.locks,
                         keeper->options->servers);
    }
    if (fds[1].revents)
        hear_guard(keeper);
    if (fds[4].revents || crowded)
        keeper_serve_reentry(keeper);
    if (fds[0].revents || fds[3].revents)
        keeper_hear_front(keeper);
    if (fds[5].revents)
        keeper->news.caller_ended = true;
}
