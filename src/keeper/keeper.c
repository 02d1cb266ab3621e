#include "keeper/keeper_state.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "ensemble/contact.h"
#include "keeper/plan.h"
#include "lock/contender.h"
#include "process/detach.h"
#include "process/signals.h"
#include "process/tree.h"

/* How long to try to give a lock back, at the most; then its session has to expire. */
#define GIVE_BACK_PATIENCE (5 * CLOCK_S)

/* Between two tries to let in who could not be for want of a descriptor. */
#define CROWDED_PAUSE (CLOCK_S / 4)

static void keeper_free(struct keeper *keeper)
{
    plan_free(keeper->items, keeper->items_len);
    legacy_free(keeper->legacy);
    free(keeper);
}

struct keeper *keeper_start(const struct options *options, const struct command *command,
                            struct hook *hook, struct front *front)
{
    struct keeper *keeper;

    errno = 0;
    if (!tree_visible()) {
        if (errno == EMFILE || errno == ENFILE) {
            log_error("cannot start: %s", strerror(errno));
            return NULL;
        }
        log_error("cannot read /proc, without which a command could not be ended for sure when its "
                  "lock is lost; mount it");
        return NULL;
    }
    contender_introduce(command->argv);
    keeper = xcalloc(1, sizeof(*keeper));
    keeper->options = options;
    keeper->command = command;
    keeper->hook = hook;
    keeper->front = front;
    keeper->hold = command->hold;
    keeper->begun_at = keeper->started_at = clock_now();
    keeper->late_at = clock_add(keeper->begun_at, options->deadline);
    keeper->tries_left = options->retries;
    keeper->items = plan_new(options, &keeper->items_len);
    keeper->legacy = legacy_new();
    keeper->mandate =
        (struct guard_mandate){.command = command,
                               .lock_path = options->lock,
                               .servers = options->servers,
                               .legacy = keeper->legacy,
                               .signal = options->signal,
                               .on_lost = options->on_lost,
                               .caller = command->hold ? command->hold->caller.pid : 0,
                               .caller_fd = command->hold ? command->hold->caller_fd : -1,
                               .whole_tree = options->tree};
    /*
     * A zkflock inside the command means the same ensemble.  The guard first: the runner keeps no
     * descriptor of others open, the guard would.
     */
    if (!keeper->legacy || setenv(SERVERS_VARIABLE, servers_text(options->servers), 1) < 0 ||
        guard_start(&keeper->guard, &keeper->mandate) < 0 ||
        hook_start(hook, command, options->lock) < 0) {
        log_error("cannot start: %s", strerror(errno));
        keeper_free(keeper);
        return NULL;
    }
    if (keeper->hold)
        detach_directory();
    tree_reserve();
    front_introduce(front, keeper->guard.pid);
    return keeper;
}

/* ---- the events of all sources ---- */

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

static void take_event(struct keeper *keeper, const struct session_event *event)
{
    if (keeper->locks) {
        lockset_handle(keeper->locks, event);
        keeper_heed_revoke(keeper);
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
        {.fd = front_signal_fd(keeper->front), .events = POLLIN},
        {.fd = keeper->guard_dead ? -1 : keeper->guard.link, .events = POLLIN},
        {.fd = keeper->session ? session_fd(keeper->session) : -1, .events = POLLIN},
        {.fd = front_link_fd(keeper->front), .events = POLLIN},
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

bool keeper_front_died(struct keeper *keeper)
{
    log_error("zkflock was killed, so the command is ended and the lock given back");
    return keeper_stop(keeper, EXITCODE_INTERNAL);
}

bool keeper_guard_died(struct keeper *keeper)
{
    log_error("the guard process was killed, so the command was ended");
    return keeper_stop(keeper, EXITCODE_INTERNAL);
}

/* Who leaves before it knows the lock's record cannot be counted, and is waited for. */
static bool is_joining(const struct keeper *keeper)
{
    return keeper->locks && lockset_phase(keeper->locks) == LOCK_JOINING;
}

static void caller_ended(struct keeper *keeper)
{
    log_error("%s, which %s was to be held for, has ended", keeper->hold->name,
              keeper->options->lock);
    keeper_stop(keeper, EXITCODE_USAGE);
}

static void refused(struct keeper *keeper)
{
    char *why = contact_refused(keeper->options->servers);

    log_error("%s; %s was not taken", why, keeper->options->lock);
    free(why);
    keeper_stop(keeper, EXITCODE_NOPERM);
}

bool keeper_cut_short(struct keeper *keeper)
{
    if (keeper->ended_by)
        keeper_ended_by_signal(keeper);
    else if (keeper->guard_dead)
        keeper_guard_died(keeper);
    else if (keeper->abandoned)
        keeper_front_died(keeper);
    else if (keeper->session && session_refused(keeper->session))
        refused(keeper);
    else if (keeper->caller_ended && !is_joining(keeper))
        caller_ended(keeper);
    else
        return false;
    return true;
}

static void leave_queue(struct keeper *keeper)
{
    int64_t deadline =
        clock_now() + clock_earlier(GIVE_BACK_PATIENCE, keeper->options->connect_timeout);

    lockset_leave(keeper->locks);
    while (lockset_phase(keeper->locks) == LOCK_LEAVING && clock_now() < deadline)
        keeper_pump(keeper, deadline);
    if (lockset_phase(keeper->locks) == LOCK_LEAVING && lockset_has_node(keeper->locks))
        log_warning("no answer from the ensemble: %s could not be given back; it comes free when "
                    "the session expires, in %d s at the most",
                    keeper->options->lock, (session_timeout_ms(keeper->session) + 999) / 1000);
    else if (lockset_phase(keeper->locks) == LOCK_LEFT && keeper->acquired_at && !keeper->ended_at)
        keeper_tell_released(keeper);
}

static struct keeper_times times_of(const struct keeper *keeper)
{
    int64_t now = clock_now();
    int64_t acquired_at = keeper->acquired_at;
    int64_t ended_at = keeper->ended_at ? keeper->ended_at : now;

    return (struct keeper_times){
        .waited = (acquired_at ? acquired_at : now) - keeper->begun_at,
        .held = acquired_at ? ended_at - acquired_at : KEEPER_NEVER_HELD,
    };
}

static bool has_something_to_give_back(const struct keeper *keeper)
{
    if (!keeper->locks || !session_withhold(keeper->session))
        return false; /* without a session there is no znode, nor will there be one */
    /* A lock that is lost for want of contact is not given back by waiting for contact. */
    return !keeper->lost || session_connected(keeper->session);
}

static bool is_given_back(const struct keeper *keeper)
{
    return !keeper->locks || lockset_phase(keeper->locks) == LOCK_LEFT;
}

void keeper_hang_up(struct keeper *keeper)
{
    keeper_end_reentry(keeper);
    outlook_free(keeper->outlook);
    keeper->outlook = NULL;
    once_free(keeper->once);
    keeper->once = NULL;
    lockset_free(keeper->locks);
    keeper->locks = NULL;
    session_close(keeper->session);
    keeper->session = NULL;
}

int keeper_give_back(struct keeper *keeper, struct keeper_times *times)
{
    int status = keeper->status;

    keeper_close_reentry(keeper);
    if (has_something_to_give_back(keeper))
        leave_queue(keeper);
    *times = times_of(keeper);
    if (is_given_back(keeper))
        hook_tell_released(keeper->hook, status);
    front_forsake(keeper->front);
    guard_dismiss(&keeper->guard);
    if (keeper->reentry)
        reentry_unlocked(keeper->reentry, is_given_back(keeper));
    keeper_hang_up(keeper);
    close(keeper->guard.link);
    if (!keeper->guard_dead) {
        kill(keeper->guard.pid, SIGCONT); /* it may be stopped */
        waitpid(keeper->guard.pid, NULL, 0);
    }
    hook_end(keeper->hook);
    keeper_free(keeper);
    return status;
}
