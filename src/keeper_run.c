#include "keeper_state.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "clock.h"
#include "lease.h"
#include "log.h"
#include "tree.h"

static int64_t lease_end(const struct keeper *keeper)
{
    return lock_proven_at(keeper->lock) + lock_lease(keeper->lock);
}

/* The guard is dead or does not answer: its descendants become this process's, and die. */
static void kill_without_guard(struct keeper *keeper)
{
    if (!keeper->guard_dead)
        kill(keeper->guard.pid, SIGKILL);
    while (!tree_kill())
        poll(NULL, 0, (int)(TREE_KILL_ROUND / CLOCK_MS));
    keeper->guard_dead = true;
    keeper->tree_empty = true;
}

/* The command had ended, or never begun, before it could be told to. */
static bool command_over(const struct keeper *keeper)
{
    return keeper->exited || keeper->exec_error;
}

/* Waits until the guard has ended the tree; does it itself if the guard is late. */
static void await_empty(struct keeper *keeper)
{
    int64_t kill_at = lease_end(keeper) - lease_margin(lock_lease(keeper->lock)) / 2;

    while (!keeper->tree_empty && !keeper->guard_dead && !command_over(keeper) &&
           clock_now() < kill_at)
        keeper_pump(keeper, kill_at);
    if (!keeper->tree_empty && !command_over(keeper))
        kill_without_guard(keeper);
}

static void lost(struct keeper *keeper)
{
    const char *why;
    char span[CLOCK_FORMAT_SIZE];

    clock_format(clock_now() - lock_proven_at(keeper->lock), span);
    guard_kill(&keeper->guard);
    await_empty(keeper);
    if (command_over(keeper))
        return; /* in time: its own status stands */
    keeper->lost = true;
    if (lock_failure(keeper->lock, &why))
        log_error("lost %s: %s; %s was ended", keeper->options->lock, why,
                  keeper->command->argv[0]);
    else
        log_error("lost %s: no contact with the ensemble for %s; %s was ended",
                  keeper->options->lock, span, keeper->command->argv[0]);
    keeper->status = EXITCODE_LOST;
}

static int command_status(const struct keeper *keeper)
{
    int status = keeper->wait_status;

    if (WIFSIGNALED(status)) {
        log_info("%s was ended by signal %d (%s)", keeper->command->argv[0], WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
        return EXITCODE_SIGNAL + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}

/* Whether the run is over; then it has ended what has to be ended and set the status. */
static bool ended(struct keeper *keeper, int64_t guard_knows_end)
{
    int64_t margin = lease_margin(lock_lease(keeper->lock));

    if (keeper->exited) {
        keeper->status = command_status(keeper);
    } else if (keeper->exec_error) {
        log_error("cannot execute %s: %s", keeper->command->argv[0], strerror(keeper->exec_error));
        keeper->status = (int)command_exec_failure(keeper->exec_error);
    } else if (keeper->guard_dead) {
        kill_without_guard(keeper);
        keeper_guard_died(keeper);
    } else if (keeper->abandoned) {
        guard_kill(&keeper->guard);
        await_empty(keeper);
        keeper_front_died(keeper);
    } else if (keeper->lease_over || lock_phase(keeper->lock) == LOCK_LOST ||
               clock_now() >= guard_knows_end - margin) {
        /* By the last of these the guard should have spoken: it is not well. */
        lost(keeper);
        return keeper->lost;
    } else {
        return false;
    }
    return true;
}

void keeper_run(struct keeper *keeper)
{
    int64_t lease = lock_lease(keeper->lock);
    int64_t guard_knows_end = lease_end(keeper);
    int64_t next_proof = lock_proven_at(keeper->lock) + lease_proof_interval(lease);

    keeper_hear_front(keeper);
    if (keeper->ended_by) {
        keeper_ended_by_signal(keeper);
        return;
    }
    keeper->running = true;
    guard_go(&keeper->guard, guard_knows_end, lease, lock_token(keeper->lock),
             lock_node(keeper->lock));
    while (!ended(keeper, guard_knows_end)) {
        int64_t now = clock_now();

        if (now >= next_proof) {
            lock_prove(keeper->lock);
            next_proof = now + lease_proof_interval(lease);
        }
        if (lease_end(keeper) > guard_knows_end) {
            guard_knows_end = lease_end(keeper);
            guard_extend(&keeper->guard, guard_knows_end);
        }
        keeper_pump(keeper, clock_earlier(next_proof, guard_knows_end - lease_margin(lease)));
    }
}
