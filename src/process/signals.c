#include "process/signals.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

/* These end zkflock while it waits, and go to the command while that runs. */
static const int ending[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};

static const int others[] = {SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH, SIGCHLD};

bool signals_end(int number)
{
    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
        if (ending[i] == number)
            return true;
    return false;
}

bool signals_stop(int number)
{
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

bool signals_to_forward(int number)
{
    return signals_end(number) || number == SIGTSTP || number == SIGCONT || number == SIGWINCH;
}

/* Leaves out what the caller ignores, as nohup(1) makes it do: blocked, it would be queued. */
static void add_ending(sigset_t *set)
{
    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
        struct sigaction action;

        sigaction(ending[i], NULL, &action);
        if (action.sa_handler != SIG_IGN)
            sigaddset(set, ending[i]);
    }
}

int signals_block(sigset_t *old_mask, bool *ignored_child)
{
    struct sigaction old_child;
    sigset_t blocked;

    sigemptyset(&blocked);
    add_ending(&blocked);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        sigaddset(&blocked, others[i]);

    int fd = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);

    if (fd < 0)
        return -1;
    /* A write to a reader that is gone must not end a process that has the lock, */
    sigaddset(&blocked, SIGPIPE);
    sigaddset(&blocked, SIGXFSZ); /* nor must a log that has reached its limit. */
    sigprocmask(SIG_BLOCK, &blocked, old_mask);
    /* With SIGCHLD ignored, which is inherited, the kernel would reap children by itself. */
    sigaction(SIGCHLD, NULL, &old_child);
    *ignored_child = old_child.sa_handler == SIG_IGN;
    if (*ignored_child)
        signal(SIGCHLD, SIG_DFL);
    return fd;
}

sigset_t signals_block_all(void)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    return all;
}

bool signals_next(int fd, struct signals_received *received)
{
    struct signalfd_siginfo info;

    if (read(fd, &info, sizeof(info)) != sizeof(info))
        return false;

    /* ALRM comes from the kernel, too: from an alarm(2) set before zkflock was executed. */
    bool from_terminal = info.ssi_code == SI_KERNEL && info.ssi_signo != SIGALRM;

    *received = (struct signals_received){
        .number = (int)info.ssi_signo,
        .sender = (pid_t)info.ssi_pid,
        .from_terminal = from_terminal,
        .to_group = from_terminal,
    };
    return true;
}

static void mask_one(int how, int number)
{
    sigset_t one;

    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(how, &one, NULL);
}

/*
 * Uses the default action and not STOP: for these signals the kernel does not stop an orphaned
 * process group, which nobody could continue.
 */
void signals_stop_self(int number)
{
    raise(number);
    signals_settle_stop(number, true);
}

void signals_settle_stop(int number, bool stop)
{
    if (stop) {
        mask_one(SIG_UNBLOCK, number);
        mask_one(SIG_BLOCK, number);
    } else {
        signal(number, signal(number, SIG_IGN)); /* ignoring a signal discards it */
    }
}

void signals_drop_child(void)
{
    sigset_t child;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigtimedwait(&child, NULL, &(struct timespec){0});
}

void signals_die_of(int number)
{
    signal(number, SIG_DFL);
    mask_one(SIG_UNBLOCK, number);
    raise(number);
}

void signals_await_foreground(int terminal)
{
    mask_one(SIG_UNBLOCK, SIGTTOU);
    /* Has no effect, except that the kernel stops a process that tries it from the background. */
    tcflow(terminal, TCOON);
    mask_one(SIG_BLOCK, SIGTTOU);
}

void signals_let_end(bool at_once)
{
    sigset_t set;

    sigemptyset(&set);
    add_ending(&set);
    sigprocmask(at_once ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

const char *signals_name(int number, char buf[SIGNALS_NAME_SIZE])
{
    const char *name = sigabbrev_np(number);

    if (name)
        snprintf(buf, SIGNALS_NAME_SIZE, "SIG%s", name);
    else
        snprintf(buf, SIGNALS_NAME_SIZE, "signal %d", number);
    return buf;
}
