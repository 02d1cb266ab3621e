/*
 * The guard starts the command and hears of its end, or of the end of the caller in its place.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/guard_state.h"
#include "process/tree.h"

static int add_to_held(const char *name)
{
    char *all = around_with(name);
    int failed = setenv(AROUND_VARIABLE, all, 1);

    free(all);
    return failed;
}

/* Returns 0, or errno: a command must not take another lock's token for its own. */
static int export_lock(const struct guard_state *guard, const struct guard_message *go)
{
    char token[24];

    snprintf(token, sizeof(token), "%" PRId64, go->token);
    if (setenv("ZKFLOCK_LOCK", guard->mandate->lock_path, 1) < 0 ||
        setenv("ZKFLOCK_NODE", go->node, 1) < 0 || setenv("ZKFLOCK_TOKEN", token, 1) < 0 ||
        unsetenv(AROUND_EXPORTED_VARIABLE) < 0 || (go->held[0] && add_to_held(go->held) < 0))
        return errno;
    return 0;
}

/* The other end closes, or with it the guard. */
static void await_close(int pipe_end)
{
    char nothing;

    while (read(pipe_end, &nothing, 1) < 0 && errno == EINTR)
        continue;
}

/*
 * The command's parent is neither in its process group nor in another one of its session.  In its
 * group it would get what is sent to all of that.  And where the caller's group is orphaned, as
 * cron's and CI's are, a parent in another group of the session would be what connects it to the
 * session: at the command's end the kernel would take it for orphaned just now, and if any process
 * of it is stopped, send HUP to all of them, the caller included (kill_orphaned_pgrp() in Linux).
 * So the guard forks inside the caller's group, and leaves for a session of its own before the
 * command may begin, which it hears from leaving.
 *
 * The pipe failure closes on exec, so that what comes out of it is the failure to execute and
 * nothing the command did.  Nobody waits for it: executing may take as long as a file server likes.
 */
static int spawn(struct guard_state *guard)
{
    const struct command *command = guard->mandate->command;
    int leaving[2];
    int failure[2];
    pid_t self = getpid();

    if (pipe2(leaving, O_CLOEXEC) < 0)
        return errno;
    if (pipe2(failure, O_CLOEXEC | O_NONBLOCK) < 0) {
        int error = errno;

        close(leaving[0]);
        close(leaving[1]);
        return error;
    }
    if (command->inherited.process_group)
        setpgid(0, command->inherited.process_group);
    guard->pid = fork();
    if (guard->pid == 0) {
        close(leaving[1]);
        await_close(leaving[0]);
        command_become(command, self, failure[1]);
    }

    int error = guard->pid < 0 ? errno : 0;

    if (!error)
        guard_tell(guard, GUARD_FORKED, guard->pid);
    setsid();
    close(leaving[0]);
    close(leaving[1]);
    close(failure[1]);
    guard->exec_fd = failure[0];
    return error;
}

static void not_started(struct guard_state *guard, int error)
{
    guard->state = ENDED;
    guard_set_timer(guard, CLOCK_NEVER);
    guard_tell(guard, GUARD_NOT_STARTED, error);
}

void guard_exec_settled(struct guard_state *guard)
{
    int error;
    ssize_t len = read(guard->exec_fd, &error, sizeof(error));

    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    close(guard->exec_fd);
    guard->exec_fd = -1;
    if (len == 0)
        guard_tell(guard, GUARD_STARTED, 0);
    else if (guard->state == RUNNING)
        not_started(guard, error);
}

void guard_start_command(struct guard_state *guard, const struct guard_message *go)
{
    int error;

    guard->lease_end = go->lease_end;
    guard->lease = go->lease;
    guard->limit_at = clock_earlier(clock_add(clock_now(), go->max_runtime), go->late_at);
    /* The keeper may have been stopped between its proof and this message, or this process. */
    if (clock_now() >= clock_earlier(guard_first_signal_time(guard), go->late_at)) {
        guard->state = ENDED;
        guard_tell(guard, GUARD_REFUSED, clock_now() < guard_first_signal_time(guard));
        return;
    }
    guard_watch(guard);
    guard->state = RUNNING;
    if (guard->mandate->caller_fd >= 0) {
        guard->caller_fd = guard->mandate->caller_fd;
        guard_tell(guard, GUARD_STARTED, 0);
        return;
    }
    error = export_lock(guard, go);
    if (!error)
        error = spawn(guard);
    if (error)
        not_started(guard, error);
}

/* Returns whether the keeper is to be told: a command that is being ended has no status. */
static bool command_over(struct guard_state *guard, int status)
{
    bool lingers = (guard->used || guard->mandate->whole_tree) && guard->state == RUNNING;

    if (guard->state != RUNNING && guard->state != LOST)
        return false;
    guard->state = lingers ? LINGERING : EXITED;
    if (!lingers)
        guard_set_timer(guard, CLOCK_NEVER);
    guard->exit_status = status;
    return true;
}

/* Returns whether it has ended, and the keeper is to be told. */
static bool command_changed(struct guard_state *guard, int status)
{
    if (WIFSTOPPED(status)) {
        guard_tell(guard, GUARD_STOPPED, guard->stopped ? SIGTSTP : WSTOPSIG(status));
    } else if (WIFEXITED(status) || WIFSIGNALED(status)) {
        if (guard->exec_fd >= 0)
            guard_exec_settled(guard);
        guard->pid = 0;
        return command_over(guard, status);
    }
    return false;
}

static bool awaits_empty_tree(const struct guard_state *guard)
{
    return guard->state == ENDING || guard->state == KILLING ||
           (guard->state == LINGERING && guard->mandate->whole_tree);
}

void guard_reap(struct guard_state *guard)
{
    struct signalfd_siginfo info;
    bool exited = false;
    int status;
    pid_t pid;

    while (read(guard->child_fd, &info, sizeof(info)) > 0)
        continue; /* one signal may stand for many children */
    /* Who was frozen together with the command past the lease cannot tell when that ended. */
    if (guard_is_guarding(guard) && clock_now() >= guard->lease_end)
        guard_lease_over(guard);
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0)
        if (pid == guard->pid)
            exited = command_changed(guard, status);
    if (awaits_empty_tree(guard) && guard_tree_has_ended(guard))
        guard_tree_is_empty(guard);
    /* After what it means for the tree. */
    if (exited)
        guard_tell(guard, GUARD_EXITED, guard->exit_status);
}

/* ---- the caller, in the place of a command ---- */

/* It has ended, or does without the lock: what it started is nobody's business any more. */
void guard_release_caller(struct guard_state *guard)
{
    guard->caller_fd = -1;
    tree_forget_outsider(guard->mandate->caller);
    if (command_over(guard, 0))
        guard_tell(guard, GUARD_EXITED, 0);
}

void guard_caller_ended(struct guard_state *guard)
{
    guard->caller_fd = -1;
    if (guard->state == RUNNING || guard->state == LOST)
        guard_release_caller(guard);
}
