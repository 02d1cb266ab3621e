#include "keeper_state.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "clock.h"
#include "lease.h"
#include "log.h"
#include "tree.h"

/* Between two rounds of killing what a dead guard left. */
#define KILL_ROUND (5 * CLOCK_MS)

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
        poll(NULL, 0, (int)(KILL_ROUND / CLOCK_MS));
    keeper->guard_dead = true;
    keeper->tree_empty = true;
}

/* Waits until the guard has ended the tree; does it itself if the guard is late. */
static void await_empty(struct keeper *keeper)
{
    int64_t kill_at = lease_end(keeper) - lease_margin(lock_lease(keeper->lock)) / 2;

    while (!keeper->tree_empty && !keeper->guard_dead && clock_now() < kill_at)
        keeper_pump(keeper, kill_at);
    if (!keeper->tree_empty)
        kill_without_guard(keeper);
}

static int lost(struct keeper *keeper)
{
    const char *why;
    char span[CLOCK_FORMAT_SIZE];

    keeper->lost = true;
    clock_format(clock_now() - lock_proven_at(keeper->lock), span);
    guard_kill(&keeper->guard);
    await_empty(keeper);
    if (lock_failure(keeper->lock, &why))
        log_error("lost %s: %s; %s was ended", keeper->options->lock, why,
                  keeper->command->argv[0]);
    else
        log_error("lost %s: no contact with the ensemble for %s; %s was ended",
                  keeper->options->lock, span, keeper->command->argv[0]);
    return EXITCODE_LOST;
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

int keeper_run(struct keeper *keeper)
{
    int64_t interval = lease_proof_interval(lock_lease(keeper->lock));
    int64_t next_proof = lock_proven_at(keeper->lock) + interval;
    int64_t known_end = lease_end(keeper);

    keeper->running = true;
    guard_go(&keeper->guard, known_end, lock_lease(keeper->lock), lock_token(keeper->lock),
             lock_node(keeper->lock));
    for (;;) {
        int64_t now = clock_now();

        if (keeper->exited)
            return command_status(keeper);
        if (keeper->exec_error) {
            log_error("cannot execute %s: %s", keeper->command->argv[0],
                      strerror(keeper->exec_error));
            return (int)command_exec_failure(keeper->exec_error);
        }
        if (keeper->guard_dead) {
            kill_without_guard(keeper);
            return keeper_guard_died();
        }
        /* The guard acts first; that it has to be asked by now means that it is not well. */
        if (keeper->lease_over || lock_phase(keeper->lock) == LOCK_LOST ||
            now >= known_end - lease_margin(lock_lease(keeper->lock)))
            return lost(keeper);
        if (now >= next_proof) {
            lock_prove(keeper->lock);
            next_proof = now + interval;
        }
        if (lease_end(keeper) > known_end) {
            known_end = lease_end(keeper);
            guard_extend(&keeper->guard, known_end);
        }
        keeper_pump(keeper,
                    clock_earlier(next_proof, known_end - lease_margin(lock_lease(keeper->lock))));
    }
}
