#include "process/guard_state.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/helper.h"
#include "process/packet.h"
#include "process/signals.h"
#include "process/tree.h"

/*
 * Returns whether KILL ended the command too, as pkill(1) does with a pattern that finds both: then
 * its descendants are left over and have to be ended.
 */
static bool was_killed_with_keeper(const struct guard_state *guard)
{
    return guard->state == EXITED && WIFSIGNALED(guard->exit_status) &&
           WTERMSIG(guard->exit_status) == SIGKILL;
}

static void link_closed(struct guard_state *guard)
{
    close(guard->link);
    guard->link = -1;
    guard_end_runner(guard);
    if (guard->state == READY || guard->state == ENDED ||
        (guard->state == EXITED && !was_killed_with_keeper(guard)))
        guard_settle(guard);
    if (guard->state != KILLING)
        guard_kill_tree(guard);
}

/*
 * Sends the signal by which somebody asks for the lock: to the command, to the caller in its place,
 * or, when the command has ended, to those that still use the lock.
 */
static void ask_to_end(const struct guard_state *guard, int signal)
{
    if (guard->pid > 0) {
        kill(guard->pid, signal);
        kill(guard->pid, SIGCONT); /* a stopped process would not act on the signal */
    } else if (guard->caller_fd >= 0) {
        syscall(SYS_pidfd_send_signal, guard->caller_fd, signal, NULL, 0);
        syscall(SYS_pidfd_send_signal, guard->caller_fd, SIGCONT, NULL, 0);
    } else if (guard_is_guarding(guard)) {
        tree_tell(signal);
        tree_tell(SIGCONT);
    }
}

/* Returns whether the command has left the process group that it was started in. */
static bool is_outside(const struct guard_state *guard)
{
    return getpgid(guard->pid) != guard->mandate->command->inherited.process_group;
}

/*
 * Sends the command a signal.  TSTP would not stop a command in a group of its own: its parent, the
 * guard, is in another session, so the group is orphaned, and the kernel does not stop an orphaned
 * group.  So the guard stops it by STOP, and continues the whole group itself.
 */
static void signal_command(struct guard_state *guard, int number)
{
    pid_t pid = guard->pid;

    if (number == SIGTSTP && is_outside(guard)) {
        guard->stopped = getpgid(pid) == pid ? -pid : pid;
        kill(guard->stopped, SIGSTOP);
    } else if (number == SIGCONT && guard->stopped) {
        kill(guard->stopped, SIGCONT);
        guard->stopped = 0;
    } else {
        kill(pid, number);
    }
}

/* One that comes when the tree is being ended would miss the signal: it does not get an answer. */
static void keep(struct guard_state *guard, const struct procid *user)
{
    if (guard->state == ENDING || guard->state == KILLING || guard->state == ENDED)
        return;
    if (!tree_descends(user->pid, getpid()) && !tree_add_outsider(user)) {
        guard_answer(guard, GUARD_NOT_KEPT, user);
        return;
    }
    guard->used = true;
    if (guard->state == EXITED) {
        guard->state = LINGERING;
        guard_watch(guard);
    }
    guard_answer(guard, GUARD_KEPT, user);
}

/* ---- the zkflocks around this one whose locks are used ---- */

/* Watches the connection, which stays open: without it the other side gives its lock back. */
static void take_share(struct guard_state *guard, int connection)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = connection};

    if (guard->around_fd < 0)
        guard->around_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ctl(guard->around_fd, EPOLL_CTL_ADD, connection, &event) < 0)
        guard->blind = true;
}

/* Returns whether that zkflock has died; else it was its last word, see reentry_free(). */
static bool has_died(int connection)
{
    char word;
    ssize_t len;

    /* If it had not read all, the link is reset; its last word comes after that error. */
    do {
        len = recv(connection, &word, sizeof(word), MSG_DONTWAIT);
    } while (len < 0 && errno == ECONNRESET);
    return len == 0 || (len < 0 && errno != EAGAIN && errno != EINTR);
}

/*
 * Its own guard would end this one's tree, but may have been ended together with it.  Its lock is
 * free when its session is over, so nothing is left to wait for.
 */
static void watch_around(struct guard_state *guard)
{
    struct epoll_event event;
    bool died;

    if (epoll_wait(guard->around_fd, &event, 1, 0) != 1)
        return;
    died = has_died(event.data.fd);
    epoll_ctl(guard->around_fd, EPOLL_CTL_DEL, event.data.fd, NULL);
    if (!died)
        return;
    guard->orphaned = true;
    if (guard_is_guarding(guard) || guard->state == LOST)
        guard_tell(guard, GUARD_ORPHANED, 0);
    if (guard_is_guarding(guard) || guard->state == LOST || guard->state == ENDING)
        guard_kill_tree(guard);
}

/* ---- the keeper ---- */

/* Returns whether the keeper has died since it gave the order that is read now. */
static bool keeper_is_gone(const struct guard_state *guard)
{
    struct pollfd link = {.fd = guard->link};

    return poll(&link, 1, 0) > 0;
}

/* connection: came with SHARE. */
static void obey(struct guard_state *guard, const struct guard_message *order, int connection)
{
    switch ((enum guard_order)order->type) {
    case GUARD_SHARE:
        take_share(guard, connection);
        break;
    case GUARD_PREPARE:
        guard_prepare(guard);
        break;
    case GUARD_GO:
        if (guard->state == READY && !keeper_is_gone(guard))
            guard_start_command(guard, order);
        break;
    case GUARD_EXTEND:
        if (guard_is_guarding(guard) && order->lease_end > guard->lease_end) {
            guard->lease_end = order->lease_end;
            guard_watch(guard);
            guard_tell(guard, GUARD_EXTENDED, 0);
        }
        break;
    case GUARD_SIGNAL:
        if (guard->pid > 0)
            signal_command(guard, order->number);
        else if (guard->state == LINGERING)
            tree_tell(order->number);
        break;
    case GUARD_SIGNAL_OUTSIDE:
        /* timeout(1), for one, leaves the group that it was started in. */
        if (guard->pid > 0 && is_outside(guard))
            signal_command(guard, order->number);
        break;
    case GUARD_ASK:
        ask_to_end(guard, order->number);
        break;
    case GUARD_KEEP:
        keep(guard, &(struct procid){order->number, order->started});
        break;
    case GUARD_SPARE:
        tree_spare_outsider(&(struct procid){order->number, order->started});
        break;
    case GUARD_UNUSED:
        guard->used = false;
        if (guard->state == LINGERING) {
            guard->state = EXITED;
            guard_set_timer(guard, CLOCK_NEVER);
        }
        break;
    case GUARD_RELEASE:
        guard_release_caller(guard);
        break;
    case GUARD_KILL:
        if (guard_is_guarding(guard) || (guard->state == LOST && order->number))
            guard_end_tree(guard, order->number ? LEASE_KILL : guard->mandate->on_lost);
        break;
    case GUARD_DISMISS:
        guard_end_runner(guard);
        _exit(0);
    }
}

static void hear_keeper(struct guard_state *guard)
{
    struct guard_message order;
    int connection;
    ssize_t len = packet_receive(guard->link, &order, sizeof(order), &connection, NULL);

    if (len >= (ssize_t)offsetof(struct guard_message, node))
        obey(guard, &order, connection);
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
        _exit(EXITCODE_OSERR); /* the keeper reports it */
}

_Noreturn void guard_process(int link, pid_t keeper, const struct guard_mandate *mandate)
{
    struct guard_state guard = {.state = READY,
                                .link = link,
                                .around_fd = -1,
                                .exec_fd = -1,
                                .caller_fd = -1,
                                .mandate = mandate};

    /*
     * A zkflock around this one may send any --signal to the keeper and the guard at once.  One of
     * them has to live on to end the command's tree.
     */
    signals_block_all();
    guard_leave_callers_group(mandate);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    open_descriptors(&guard);
    tree_reserve();
    if (mandate->caller_fd >= 0) {
        helper_detach_output();
        helper_detach_directory();
    }
    if (getppid() != keeper)
        _exit(EXITCODE_INTERNAL);
    for (;;) {
        struct pollfd fds[] = {
            {.fd = guard.exec_fd, .events = POLLIN},   {.fd = guard.child_fd, .events = POLLIN},
            {.fd = guard.timer_fd, .events = POLLIN},  {.fd = guard.link, .events = POLLIN},
            {.fd = guard.caller_fd, .events = POLLIN}, {.fd = guard.around_fd, .events = POLLIN},
        };

        poll(fds, 6, -1);
        /* First the command's end: it came in time even if the timer is due now, too. */
        if (fds[0].revents)
            guard_exec_settled(&guard);
        if (fds[1].revents)
            guard_reap(&guard);
        if (fds[2].revents)
            guard_timer_due(&guard);
        if (fds[4].revents)
            guard_release_caller(&guard);
        if (fds[5].revents)
            watch_around(&guard);
        if (fds[3].revents)
            hear_keeper(&guard);
    }
}
