/*
 * The guard starts the command and notices its end; or, with --hold, the caller's.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/guard_state.h"
#include "process/helper.h"
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

/*
 * Returns 0 or errno.  Discards the signals that it sees before GO: they are not the command's. One
 * at a time: behind GO they are.
 */
static int await_go(int pipe_end, struct guard_message *go)
{
    struct signalfd_siginfo signal;
    sigset_t all;
    int signal_fd;

    sigfillset(&all);
    signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signal_fd < 0)
        return errno;

    struct pollfd fds[] = {{.fd = pipe_end, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};

    while (poll(fds, 2, -1) < 0 || !fds[0].revents)
        if (read(signal_fd, &signal, sizeof(signal)) < 0 && errno != EAGAIN)
            return errno;
    if (read(pipe_end, go, sizeof(*go)) != sizeof(*go))
        _exit(EXITCODE_INTERNAL); /* the guard has ended */
    close(signal_fd);
    close(pipe_end);
    return 0;
}

/* The process that will be the command: waits for GO, or for the end of the guard. */
static _Noreturn void runner(const struct guard_state *guard, pid_t parent, int pipe_end,
                             int failure)
{
    struct guard_message go = {0};
    int error;

    helper_set_title("lock-command");
    /* The keeper and the front notice by these that the guard has ended. */
    close(guard->link);
    if (guard->mandate->front_link >= 0)
        close(guard->mandate->front_link);
    if (guard->mandate->command->inherited.process_group)
        setpgid(0, 0);
    /* Once more when GO has come: by then the kernel has mapped the code and the memory for it. */
    error = export_lock(guard, &go);
    if (!error)
        error = await_go(pipe_end, &go);
    if (!error)
        error = export_lock(guard, &go);
    command_become(guard->mandate->command, parent, failure, error);
}

static void forget_runner(struct guard_state *guard)
{
    close(guard->runner.go_fd);
    close(guard->runner.failure_fd);
    guard->runner = (struct runner){0};
}

void guard_end_runner(struct guard_state *guard)
{
    if (guard->runner.pid == 0)
        return;
    kill(guard->runner.pid, SIGKILL);
    waitpid(guard->runner.pid, NULL, 0);
    forget_runner(guard);
}

void guard_leave_callers_group(const struct guard_mandate *mandate)
{
    /* One without a number here could not be joined again for GO. */
    if (mandate->caller || mandate->command->inherited.process_group)
        setpgid(0, 0);
}

static void join_callers_group(const struct guard_state *guard)
{
    if (guard->mandate->command->inherited.process_group)
        setpgid(0, guard->mandate->command->inherited.process_group);
}

/*
 * Forks the process that will be the command.  Returns 0 or errno.
 *
 * The guard must not stay in the command's process group, where it would get every signal that is
 * sent to the group.  Nor may it be in another group of the command's session.  The caller's group
 * may be orphaned, as those of cron and CI are; with a parent in another group of the session it
 * would not count as orphaned until the command ends.  Then the kernel would send HUP to the whole
 * group, the caller included, if a process of it is stopped (kill_orphaned_pgrp() in Linux).
 *
 * So the guard joins the caller's group, forks there, and leaves it again; before GO for a session
 * of its own.  The child leaves for a group of its own, where it waits for GO.  Then it joins the
 * caller's group.  A child that was forked in the guard's group, and has not left it yet, would
 * make setsid() fail.
 *
 * The pipe failure closes on exec: what it yields is why the command could not be executed, and
 * never something that the command wrote.  The guard does not wait for that: a slow file server may
 * delay the execution for any time.
 */
static int fork_runner(struct guard_state *guard)
{
    pid_t self = getpid();
    int go[2];
    int failure[2];

    if (pipe2(go, O_CLOEXEC) < 0)
        return errno;
    if (pipe2(failure, O_CLOEXEC | O_NONBLOCK) < 0) {
        int error = errno;

        close(go[0]);
        close(go[1]);
        return error;
    }
    join_callers_group(guard);

    pid_t pid = fork();
    int error = pid < 0 ? errno : 0;

    if (pid == 0) {
        close(go[1]);
        runner(guard, self, go[0], failure[1]);
    }
    guard_leave_callers_group(guard->mandate);
    close(go[0]);
    close(failure[1]);
    guard->runner = (struct runner){.pid = pid, .go_fd = go[1], .failure_fd = failure[0]};
    if (error)
        forget_runner(guard);
    return error;
}

void guard_prepare(struct guard_state *guard)
{
    /* Without a number of the caller's group the child could not join it again. */
    if (guard->state == READY && guard->runner.pid == 0 && guard->mandate->caller_fd < 0 &&
        guard->mandate->command->inherited.process_group)
        fork_runner(guard); /* if it fails, GO tries again */
}

/* Starts the command.  Returns 0 or errno. */
static int start(struct guard_state *guard, const struct guard_message *go)
{
    int error = guard->runner.pid ? 0 : fork_runner(guard);

    if (error)
        return error;
    join_callers_group(guard);
    setsid();
    guard->pid = guard->runner.pid;
    guard->exec_fd = guard->runner.failure_fd;
    guard_tell(guard, GUARD_FORKED, guard->pid);
    if (write(guard->runner.go_fd, go, sizeof(*go)) < 0 && errno != EPIPE)
        error = errno; /* EPIPE: it has just been killed, as the command could be */
    close(guard->runner.go_fd);
    guard->runner = (struct runner){0};
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

static void refuse(struct guard_state *guard, enum guard_refusal why)
{
    guard->state = ENDED;
    guard_end_runner(guard);
    guard_tell(guard, GUARD_REFUSED, (int)why);
}

void guard_start_command(struct guard_state *guard, const struct guard_message *go)
{
    int error;

    guard->lease_end = go->lease_end;
    guard->lease = go->lease;
    guard->limit_at = clock_earlier(clock_add(clock_now(), go->max_runtime), go->late_at);
    /* The keeper may have been stopped between its proof and this order, or the guard since. */
    if (guard->orphaned)
        refuse(guard, GUARD_REFUSED_ORPHANED);
    else if (clock_now() >= guard_first_signal_time(guard))
        refuse(guard, GUARD_REFUSED_LEASE);
    else if (clock_now() >= go->late_at)
        refuse(guard, GUARD_REFUSED_LATE);
    else if (guard->blind)
        not_started(guard, EMFILE);
    if (guard->state != READY)
        return;
    guard_watch(guard);
    guard->state = RUNNING;
    if (guard->mandate->caller_fd >= 0) {
        guard->caller_fd = guard->mandate->caller_fd;
        guard_tell(guard, GUARD_STARTED, 0);
        return;
    }
    error = start(guard, go);
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

static void runner_changed(struct guard_state *guard, int status)
{
    if (WIFSTOPPED(status))
        kill(guard->runner.pid, SIGCONT); /* else it would still be stopped as the command */
    else
        forget_runner(guard);
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
        else if (pid == guard->runner.pid)
            runner_changed(guard, status);
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
