/*
 * The guard's states, and what takes it from one to the next:
 *
 *   READY    -> RUNNING    GO, and the lease has time left        [start_command]
 *            -> ENDED      GO, but the command cannot be started
 *   RUNNING  -> EXITED     the command ended by itself            [reap]
 *            -> ENDING     the lease's first signal is due, or KILL: TERM to the tree [end_tree]
 *            -> LOST       the same under --on-lost warn: the command goes on
 *            -> KILLING    the keeper died                        [link_closed]
 *   RUNNING  -> EXITED     RELEASE, or the end of the caller, where the lock is held for one
 *   LOST     -> EXITED     the command ended by itself
 *   RUNNING  -> LINGERING  the same after KEEP: others may use its lock; or under --tree: what it
 *                          started may be left; as RUNNING, but for the command itself
 *   LINGERING -> ENDED     nothing is left, and nobody else uses the lock
 *   ENDING   -> KILLING    the grace is over; never under --on-lost term
 *   ENDING, KILLING -> ENDED    waitpid() says ECHILD: nothing is left
 *   READY, EXITED, ENDED -> gone   DISMISS; what the command left behind lives on
 *                        -> gone   the keeper died: its place is given back  [settle]
 *
 * What holds: in RUNNING the timer is set to the first signal's time; what has been left is never
 * RUNNING again, whatever the keeper says; the process group is the guard's own, so that what a
 * terminal sends to the command's group does not reach it; it writes nothing and allocates nothing
 * while the command runs, except to list processes for a kill.
 */
#include "guard_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "hold.h"
#include "lease.h"
#include "tree.h"
#include "xalloc.h"

/* Not "zkflock": killall(1) and pkill(1) must not take keeper and guard at once. */
#define GUARD_NAME "lock-guard"

/* How long to try to give a dead keeper's place back; then its session has to expire. */
#define SETTLE_PATIENCE (20 * CLOCK_S)

enum state { READY, RUNNING, LOST, EXITED, LINGERING, ENDING, KILLING, ENDED };

struct guard_state {
    int link;     /* -1: the keeper is dead */
    int child_fd; /* SIGCHLD */
    int timer_fd;
    int exec_fd;   /* tells why the command could not be executed; -1: settled */
    int caller_fd; /* the mandate's while it is watched; else -1 */
    const struct guard_mandate *mandate;

    enum state state;
    pid_t pid; /* the command's; 0 when it is reaped */
    int64_t lease_end;
    struct lease lease;
    int exit_status;         /* the command's wait status; */
    bool exit_untold;        /* to be reported, after what it means for the tree */
    bool used;               /* a zkflock inside the command was let in */
    unsigned int kill_round; /* above 0: KILL was used */
};

static void report(const struct guard_state *guard, enum guard_report type, int number)
{
    const struct guard_message message = {
        .type = (int32_t)type, .number = number, .lease_end = guard->lease_end};
    ssize_t sent = send(guard->link, &message, offsetof(struct guard_message, node), MSG_NOSIGNAL);

    (void)sent; /* a keeper that is dead is noticed by the link */
}

/* Absolute and of CLOCK_BOOTTIME: poll's own timeout would not count a suspend. */
static void set_timer(const struct guard_state *guard, int64_t when)
{
    struct itimerspec timer = {0};

    if (when != CLOCK_NEVER) {
        if (when <= 0)
            when = 1; /* 0 would disarm it */
        timer.it_value = (struct timespec){.tv_sec = when / CLOCK_S, .tv_nsec = when % CLOCK_S};
    }
    timerfd_settime(guard->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL);
}

static int64_t kill_time(const struct guard_state *guard)
{
    return guard->lease_end - guard->lease.margin;
}

static int64_t first_signal_time(const struct guard_state *guard)
{
    return kill_time(guard) - guard->lease.grace;
}

/* Ends the process, having put a dead keeper's affairs in order. */
static _Noreturn void settle(const struct guard_state *guard)
{
    const struct guard_mandate *mandate = guard->mandate;

    legacy_settle(mandate->legacy, mandate->servers, SETTLE_PATIENCE);
    _exit(EXITCODE_INTERNAL);
}

/* Whether the lease is being watched. */
static bool is_guarding(const struct guard_state *guard)
{
    return guard->state == RUNNING || guard->state == LINGERING;
}

/* ---- ending the tree ---- */

static void tree_is_empty(struct guard_state *guard)
{
    guard->pid = 0;
    if (guard->state != LINGERING || !guard->used) {
        guard->state = ENDED;
        set_timer(guard, CLOCK_NEVER);
    }
    report(guard, GUARD_EMPTY, guard->kill_round > 0);
    if (guard->link < 0)
        settle(guard);
}

static void kill_tree(struct guard_state *guard)
{
    int64_t pause = tree_kill_pause(&guard->kill_round);

    guard->state = KILLING;
    if (tree_kill(&guard->pid))
        tree_is_empty(guard);
    else
        set_timer(guard, clock_now() + pause);
}

/* The lock is lost, for good: whatever comes now, the command ends. */
static void end_tree(struct guard_state *guard)
{
    int64_t kill_at = clock_earlier(kill_time(guard), clock_now() + guard->lease.grace);
    enum lease_on_lost how = guard->mandate->on_lost;

    guard->state = how == LEASE_WARN ? LOST : ENDING;
    set_timer(guard, how == LEASE_KILL ? kill_at : CLOCK_NEVER);
    if (how == LEASE_WARN)
        return;
    tree_signal(guard->mandate->signal, guard->pid);
    tree_signal(SIGCONT, guard->pid); /* what is stopped would not hear it */
}

static void timer_due(struct guard_state *guard)
{
    uint64_t count;

    if (read(guard->timer_fd, &count, sizeof(count)) < 0)
        return;
    if (is_guarding(guard) && clock_now() >= first_signal_time(guard)) {
        report(guard, GUARD_LEASE_OVER, 0);
        end_tree(guard);
    } else if (guard->state == ENDING || guard->state == KILLING) {
        kill_tree(guard);
    }
}

/* ---- the command ---- */

static void add_to_held(const char *name)
{
    const char *others = getenv(REENTRY_VARIABLE);
    char *all = others && *others ? xasprintf("%s %s", others, name) : xstrdup(name);

    setenv(REENTRY_VARIABLE, all, 1);
    free(all);
}

static void export_lock(const struct guard_state *guard, const struct guard_message *go)
{
    char token[24];

    snprintf(token, sizeof(token), "%" PRId64, go->token);
    setenv("ZKFLOCK_LOCK", guard->mandate->lock_path, 1);
    setenv("ZKFLOCK_NODE", go->node, 1);
    setenv("ZKFLOCK_TOKEN", token, 1);
    if (go->held[0])
        add_to_held(go->held);
}

/*
 * The pipe closes on exec, so that what comes out of it is the failure to execute and nothing the
 * command did.  Nobody waits for it: executing may take as long as a file server likes.
 */
static int spawn(struct guard_state *guard)
{
    int failure[2];
    pid_t self = getpid();

    if (pipe2(failure, O_CLOEXEC | O_NONBLOCK) < 0)
        return errno;
    guard->pid = fork();
    if (guard->pid == 0) {
        int error = command_exec(guard->mandate->command, self);

        if (write(failure[1], &error, sizeof(error)) < 0)
            _exit(EXITCODE_OSERR);
        _exit((int)command_exec_failure(error));
    }

    int error = guard->pid < 0 ? errno : 0;

    close(failure[1]);
    guard->exec_fd = failure[0];
    return error;
}

static void not_started(struct guard_state *guard, int error)
{
    guard->state = ENDED;
    set_timer(guard, CLOCK_NEVER);
    report(guard, GUARD_NOT_STARTED, error);
}

static void exec_settled(struct guard_state *guard)
{
    int error;
    ssize_t len = read(guard->exec_fd, &error, sizeof(error));

    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    close(guard->exec_fd);
    guard->exec_fd = -1;
    if (len == 0)
        report(guard, GUARD_STARTED, 0);
    else if (guard->state == RUNNING)
        not_started(guard, error);
}

static void start_command(struct guard_state *guard, const struct guard_message *go)
{
    int error;

    guard->lease_end = go->lease_end;
    guard->lease = go->lease;
    /* The keeper may have been stopped between its proof and this message. */
    if (clock_now() >= first_signal_time(guard)) {
        guard->state = ENDED;
        report(guard, GUARD_LEASE_OVER, 0);
        report(guard, GUARD_EMPTY, 0);
        return;
    }
    set_timer(guard, first_signal_time(guard));
    guard->state = RUNNING;
    if (guard->mandate->caller_fd >= 0) {
        guard->caller_fd = guard->mandate->caller_fd;
        report(guard, GUARD_STARTED, 0);
        return;
    }
    export_lock(guard, go);
    error = spawn(guard);
    if (error)
        not_started(guard, error);
}

static void command_over(struct guard_state *guard, int status)
{
    bool lingers = (guard->used || guard->mandate->whole_tree) && guard->state == RUNNING;

    if (guard->state != RUNNING && guard->state != LOST)
        return;
    guard->state = lingers ? LINGERING : EXITED;
    if (!lingers)
        set_timer(guard, CLOCK_NEVER);
    guard->exit_status = status;
    guard->exit_untold = true;
}

static void tell_exit(struct guard_state *guard)
{
    if (guard->exit_untold)
        report(guard, GUARD_EXITED, guard->exit_status);
    guard->exit_untold = false;
}

static void command_changed(struct guard_state *guard, int status)
{
    if (WIFSTOPPED(status)) {
        report(guard, GUARD_STOPPED, WSTOPSIG(status));
    } else if (WIFEXITED(status) || WIFSIGNALED(status)) {
        if (guard->exec_fd >= 0)
            exec_settled(guard);
        guard->pid = 0;
        command_over(guard, status);
    }
}

static bool awaits_empty_tree(const struct guard_state *guard)
{
    return guard->state == ENDING || guard->state == KILLING ||
           (guard->state == LINGERING && guard->mandate->whole_tree);
}

static void reap(struct guard_state *guard)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid;

    while (read(guard->child_fd, &info, sizeof(info)) > 0)
        continue; /* one signal may stand for many children */
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0)
        if (pid == guard->pid)
            command_changed(guard, status);
    if (pid < 0 && errno == ECHILD && awaits_empty_tree(guard))
        tree_is_empty(guard);
    tell_exit(guard);
}

/* ---- the caller, in the place of a command ---- */

/* It has ended, or does without the lock: what it started is nobody's business any more. */
static void release_caller(struct guard_state *guard)
{
    guard->caller_fd = -1;
    tree_forget_outsider();
    command_over(guard, 0);
    tell_exit(guard);
}

static void caller_ended(struct guard_state *guard)
{
    guard->caller_fd = -1;
    if (guard->state == RUNNING || guard->state == LOST)
        release_caller(guard);
    else if (guard->state == ENDING && tree_outsiders_gone())
        tree_is_empty(guard);
}

/* ---- the keeper ---- */

static void link_closed(struct guard_state *guard)
{
    close(guard->link);
    guard->link = -1;
    if (guard->state == READY || guard->state == EXITED || guard->state == ENDED)
        settle(guard);
    if (guard->state != KILLING)
        kill_tree(guard);
}

static void obey(struct guard_state *guard, const struct guard_message *order)
{
    switch ((enum guard_order)order->type) {
    case GUARD_GO:
        if (guard->state == READY)
            start_command(guard, order);
        break;
    case GUARD_EXTEND:
        if (is_guarding(guard) && order->lease_end > guard->lease_end) {
            guard->lease_end = order->lease_end;
            set_timer(guard, first_signal_time(guard));
            report(guard, GUARD_EXTENDED, 0);
        }
        break;
    case GUARD_SIGNAL:
        if (guard->pid > 0)
            kill(guard->pid, order->number);
        else if (guard->mandate->whole_tree && is_guarding(guard))
            tree_signal(order->number, 0);
        break;
    case GUARD_KEEP:
        guard->used = true;
        if (guard->state == EXITED) {
            guard->state = LINGERING;
            set_timer(guard, first_signal_time(guard));
        }
        break;
    case GUARD_RELEASE:
        release_caller(guard);
        break;
    case GUARD_KILL:
        if (is_guarding(guard))
            end_tree(guard);
        break;
    case GUARD_DISMISS:
        _exit(0);
    }
}

static void hear_keeper(struct guard_state *guard)
{
    struct guard_message order;
    ssize_t len = recv(guard->link, &order, sizeof(order), 0);

    if (len >= (ssize_t)offsetof(struct guard_message, node))
        obey(guard, &order);
    else if (len == 0 || (errno != EAGAIN && errno != EINTR))
        link_closed(guard);
}

static void open_descriptors(struct guard_state *guard)
{
    sigset_t child;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    guard->child_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    guard->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (guard->child_fd < 0 || guard->timer_fd < 0)
        _exit(EXITCODE_OSERR); /* the keeper tells of it */
}

_Noreturn void guard_process(int link, pid_t keeper, const struct guard_mandate *mandate)
{
    struct guard_state guard = {.link = link, .exec_fd = -1, .caller_fd = -1, .mandate = mandate};

    setpgid(0, 0);
    prctl(PR_SET_NAME, GUARD_NAME);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    open_descriptors(&guard);
    tree_reserve();
    if (mandate->caller_fd >= 0)
        hold_drop_stdout();
    if (getppid() != keeper)
        _exit(EXITCODE_INTERNAL);
    for (;;) {
        struct pollfd fds[] = {
            {.fd = guard.exec_fd, .events = POLLIN},   {.fd = guard.child_fd, .events = POLLIN},
            {.fd = guard.timer_fd, .events = POLLIN},  {.fd = guard.link, .events = POLLIN},
            {.fd = guard.caller_fd, .events = POLLIN},
        };

        poll(fds, 5, -1);
        /* A command that ended in time ended in time, even if the timer is found due as well. */
        if (fds[0].revents)
            exec_settled(&guard);
        if (fds[1].revents)
            reap(&guard);
        if (fds[2].revents)
            timer_due(&guard);
        if (fds[4].revents)
            caller_ended(&guard);
        if (fds[3].revents)
            hear_keeper(&guard);
    }
}
