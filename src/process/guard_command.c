/*
 * The guard starts the command and notices its end; or, with --hold, the caller's.
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

/* Returns 0 or errno.  A failure counts: the command must not use the token of another lock. */
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

/* Returns when the guard closes the other end, or dies. */
static void await_close(int pipe_end)
{
    char nothing;

    while (read(pipe_end, &nothing, 1) < 0 && errno == EINTR)
        continue;
}

/*
 * Forks the command.  Returns 0 or errno.
 *
 * The guard must not stay in the command's process group, where it would get every signal that is
 * sent to the group.  Nor may it be in another group of the command's session.  The caller's group
 * may be orphaned, as those of cron and CI are; with a parent in another group of the session it
 * would not count as orphaned until the command ends.  Then the kernel would send HUP to the whole
 * group, the caller included, if a process of it is stopped (kill_orphaned_pgrp() in Linux).
 *
 * So the guard joins the caller's group, forks the command there, and leaves for a session of its
 * own.  The command waits until the pipe leaving closes, and only then begins.
 *
 * The pipe failure closes on exec: what it yields is why the command could not be executed, and
 * never something that the command wrote.  The guard does not wait for that: a slow file server may
 * delay the execution for any time.
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
    if (error)
        close(failure[0]);
    else
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
    /* The keeper may have been stopped between its proof and this order, or the guard since. */
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

/* Returns whether the keeper is to be told: the status of a command that was ended is not used. */
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

/* Returns whether the command has ended, and the keeper is to be told. */
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
    /* A guard that was frozen past the lease with the command cannot tell when that ended. */
    if (guard_is_guarding(guard) && clock_now() >= guard->lease_end)
        guard_lease_over(guard);
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0)
        if (pid == guard->pid)
            exited = command_changed(guard, status);
    if (awaits_empty_tree(guard) && guard_tree_has_ended(guard))
        guard_tree_is_empty(guard);
    /* After the report on the tree, so that the keeper knows what this end means for it. */
    if (exited)
        guard_tell(guard, GUARD_EXITED, guard->exit_status);
}

/* ---- --hold: the caller in the place of a command ---- */

/*
 * Leaves alone what the caller has started, which may live on without the lock; unless the tree is
 * being ended already.
 */
void guard_release_caller(struct guard_state *guard)
{
    if (guard->caller_fd < 0)
        return; /* RELEASE came late: the caller has ended, which the keeper was told */
    guard->caller_fd = -1;
    tree_forget_caller();
    if (command_over(guard, 0))
        guard_tell(guard, GUARD_EXITED, 0);
}
