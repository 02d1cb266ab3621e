#include "process/front.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "process/helper.h"
#include "process/process.h"
#include "process/terminal.h"

/* SIGNAL goes to the keeper, as does the answer to FORSAKE; all others go to the front. */
enum message_type {
    MESSAGE_SIGNAL, /* number: the signal; flag: the caller's process group has got it */
    MESSAGE_GUARD,  /* number: the guard's pid */
    MESSAGE_STOP,   /* number: the signal; flag: the keeper stops too; command: what has stopped */
    MESSAGE_FORGET,
    MESSAGE_FORSAKE, /* answered by the same */
    MESSAGE_END, /* number: the status to end with when the keeper has ended; flag: first restore
                    the terminal's settings */
    MESSAGE_RELEASE, /* number: the status to end with now */
    MESSAGE_BECOME,  /* the command, whose environment came just before, as a packet of text */
};

/* How long to wait for the answer; a front that is stopped gives none. */
enum { FORSAKE_PATIENCE_MS = 1000 };

struct message {
    int32_t type;
    int32_t number;
    int32_t flag;
    int32_t command; /* its pid; 0: none */
};

static void say(int link, enum message_type type, int number, bool flag)
{
    const struct message message = {.type = (int32_t)type, .number = number, .flag = flag};

    send(link, &message, sizeof(message), MSG_NOSIGNAL); /* reading tells of a dead other side */
}

/* ---- the front's process ---- */

struct front_process {
    const struct command *command;
    int link;
    int signal_fd;
    pid_t keeper; /* or, with command->in_place, what stands in between */
    pid_t guard;
    int status;       /* -1: not known yet */
    bool interrupted; /* by Ctrl-C */
    front_last_words *last_words;
    struct witness witness;
    struct terminal terminal; /* as it was before the command */
    bool restores_terminal;
    sigset_t passed_on; /* signals that the keeper has got, and that had no effect as yet */
    bool was_subreaper;
};

static _Noreturn void end(struct front_process *process, int status)
{
    witness_end(&process->witness);
    if (status && process->last_words)
        process->last_words(status);
    /* A shell gives up after Ctrl-C only if SIGINT has killed its command; an exit status would
       tell it that the command took care of Ctrl-C. */
    if (process->interrupted && status == EXITCODE_SIGNAL + SIGINT)
        signals_die_of(SIGINT);
    _exit(status);
}

/* Ends the front when the link has closed: the keeper has ended by itself, or was killed. */
static _Noreturn void finish(struct front_process *process)
{
    waitpid(process->keeper, NULL, 0);
    if (process->status >= 0) {
        if (process->restores_terminal)
            terminal_restore(&process->terminal);
        end(process, process->status);
    }
    /* It was killed.  The guard, now a child of the front, ends the command. */
    if (process->guard > 0)
        waitpid(process->guard, NULL, 0);
    terminal_restore(&process->terminal);
    log_error("the keeper process was killed, so the command was ended");
    end(process, EXITCODE_INTERNAL);
}

/* ---- --no-fork ---- */

/*
 * Makes a child of this process the keeper, in which it returns.  The front, which becomes the
 * command, would have a child that the command has not started, and may wait for; when this process
 * ends, another one adopts the keeper.
 */
static void stand_between(int link)
{
    pid_t keeper = fork();
    int status;

    if (keeper == 0)
        return;
    if (keeper < 0)
        say(link, MESSAGE_END, log_failure(EXITCODE_OSERR, "cannot start: %s", strerror(errno)),
            false);
    close(link);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (keeper > 0 && waitpid(keeper, &status, WUNTRACED) == keeper && WIFSTOPPED(status)) {
        raise(SIGSTOP); /* the front waits for that */
        kill(keeper, SIGCONT);
    }
    _exit(0);
}

/* Changes the environment by the strings of front_become(), which stay. */
static void change_environment(char *text, size_t len)
{
    for (char *one = text; one < text + len; one += strlen(one) + 1)
        if (strchr(one, '='))
            putenv(one);
        else
            unsetenv(one);
}

/* The signals that came while the keeper no longer listened are for the command. */
static void take_signals_back(const struct front_process *process)
{
    for (int number = 1; number < NSIG; number++)
        if (sigismember(&process->passed_on, number) == 1)
            raise(number);
}

static _Noreturn void become(struct front_process *process)
{
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    kill(process->keeper, SIGKILL);
    waitpid(process->keeper, NULL, 0);
    signals_drop_child();
    prctl(PR_SET_CHILD_SUBREAPER, process->was_subreaper);
    take_signals_back(process);
    end(process, (int)command_replace(process->command));
}

/* Takes the environment if it comes next; it is longer than a message. */
static void hear_environment(struct front_process *process)
{
    char *text;
    ssize_t len = recv(process->link, NULL, 0, MSG_PEEK | MSG_TRUNC);

    if (len <= (ssize_t)sizeof(struct message))
        return;
    text = xcalloc((size_t)len, 1);
    if (recv(process->link, text, (size_t)len, 0) == len)
        change_environment(text, (size_t)len);
}

static void forget_stops(struct front_process *process)
{
    for (int number = 1; number < NSIG; number++)
        if (signals_stop(number))
            sigdelset(&process->passed_on, number);
}

/* Returns whether nothing has continued the command since it was stopped, or the front. */
static bool is_still_due(const struct front_process *process, const struct message *stop)
{
    struct process command;

    if (stop->command == 0)
        return sigismember(&process->passed_on, stop->number) == 1;
    if (!process_read(stop->command, &command)) /* it has ended, or is hidden */
        return kill(stop->command, 0) == 0 || errno == EPERM;
    return command.state == 'T' || command.state == 't';
}

/*
 * Stops this process.  CONT may come first, by fg in a shell that has not waited for zkflock to
 * stop: nobody would send another one.  The signal is raised before the look, so that a CONT that
 * comes after the look takes it back.
 */
static void stop(struct front_process *process, const struct message *message)
{
    raise(message->number);

    bool due = is_still_due(process, message);

    forget_stops(process);
    /* First wait for the keeper to stop itself: it must not get the lock in between. */
    if (message->flag)
        waitid(P_PID, (id_t)process->keeper, &(siginfo_t){0}, WSTOPPED | WEXITED | WNOWAIT);
    signals_settle_stop(message->number, due);
    kill(process->keeper, SIGCONT);
}

static void hear_keeper(struct front_process *process)
{
    struct message message;
    ssize_t len;

    if (process->command->in_place)
        hear_environment(process);
    /* A keeper that ends with unread messages resets the link; what the keeper sent, the status
       among it, comes after that error. */
    do {
        len = recv(process->link, &message, sizeof(message), 0);
    } while (len < 0 && errno == ECONNRESET);
    if (len == 0 || (len < 0 && errno != EAGAIN && errno != EINTR))
        finish(process);
    if (len != sizeof(message))
        return;
    if (message.type == MESSAGE_RELEASE)
        end(process, message.number);
    if (message.type == MESSAGE_BECOME)
        become(process);
    if (message.type == MESSAGE_END) {
        process->status = message.number;
        process->restores_terminal = message.flag != 0;
    } else if (message.type == MESSAGE_GUARD) {
        process->guard = message.number;
    } else if (message.type == MESSAGE_FORGET) {
        witness_forget(&process->witness);
    } else if (message.type == MESSAGE_FORSAKE) {
        prctl(PR_SET_CHILD_SUBREAPER, 0);
        say(process->link, MESSAGE_FORSAKE, 0, false);
    } else if (message.type == MESSAGE_STOP) {
        stop(process, &message);
    }
}

/*
 * Passes a signal on to the keeper.  A terminal sends its signals to the whole group, except when
 * it goes away: then only the leader of the session gets HUP and CONT.
 */
static void hear_signal(struct front_process *process, const struct signals_received *signal)
{
    int number = signal->number;
    bool leader_alone = (number == SIGHUP || number == SIGCONT) && getsid(0) == getpid();

    if (number == SIGINT && signal->from_terminal)
        process->interrupted = true;
    if (number == SIGCHLD)
        return;
    if (number == SIGCONT)
        forget_stops(process);
    else
        sigaddset(&process->passed_on, number);
    say(process->link, MESSAGE_SIGNAL, number,
        signal->from_terminal ? !leader_alone : witness_has_got(&process->witness, signal));
}

static _Noreturn void serve(struct front_process *process)
{
    struct signals_received signal;
    struct pollfd fds[] = {{.fd = process->signal_fd, .events = POLLIN},
                           {.fd = process->link, .events = POLLIN}};

    for (;;) {
        poll(fds, 2, -1);
        while (signals_next(process->signal_fd, &signal))
            hear_signal(process, &signal);
        hear_keeper(process);
    }
}

/* ---- for the keeper ---- */

static bool subreaper(void)
{
    int is = 0;

    prctl(PR_GET_CHILD_SUBREAPER, &is);
    return is;
}

/* Returns 0, in the child alone; -1 with errno. */
static int split(struct front *front, const struct command *command, front_last_words *last_words)
{
    struct front_process process = {.command = command,
                                    .signal_fd = front->signal_fd,
                                    .status = -1,
                                    .last_words = last_words,
                                    .was_subreaper = subreaper()};

    sigemptyset(&process.passed_on);
    if (!command->hold)
        terminal_save(&process.terminal);
    /* Before the fork, so that the front adopts the orphans of a keeper that dies at once. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    process.keeper = helper_fork(&process.link, SOCK_NONBLOCK, NULL);
    if (process.keeper < 0)
        return -1;
    if (process.keeper > 0) {
        if (!command->hold)
            witness_start(&process.witness);
        serve(&process);
    }
    if (command->in_place)
        stand_between(process.link);
    /* If the front is killed while both are stopped, nobody else would continue the keeper. */
    prctl(PR_SET_PDEATHSIG, SIGCONT);
    if (command->hold)
        setsid();
    else if (command->inherited.process_group) /* else the guard has to inherit that group */
        setpgid(0, 0);
    front->link = process.link;
    front->state = FRONT_PRESENT;
    return 0;
}

int front_start(struct front *front, struct command *command, front_last_words *last_words)
{
    struct command_inheritance *inherited = &command->inherited;
    struct process self;
    /* Asks the kernel, since /dev/tty may be missing in a container or a chroot. */
    bool has_terminal = process_read(getpid(), &self) && self.terminal != 0;

    *front = (struct front){.state = FRONT_ABSENT, .link = -1};
    inherited->process_group = getpgrp();
    front->signal_fd = signals_block(&inherited->mask, &inherited->ignores_child);
    if (front->signal_fd < 0 ||
        ((command->hold || has_terminal) && split(front, command, last_words) < 0))
        return -1;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (front->state == FRONT_ABSENT)
        witness_start(&front->witness);
    return 0;
}

int front_caller_fd(const struct front *front)
{
    return front->state == FRONT_ABSENT ? front->signal_fd : front->link;
}

static void hang_up(struct front *front, enum front_state state)
{
    close(front->link);
    front->link = -1;
    front->state = state;
}

static enum front_news next_own_signal(const struct front *front, struct signals_received *signal)
{
    while (signals_next(front->signal_fd, signal)) {
        if (signal->number == SIGCHLD)
            return FRONT_CHILD;
        if (front->state == FRONT_ABSENT)
            return FRONT_SIGNAL;
    }
    return FRONT_NOTHING;
}

enum front_news front_next(struct front *front, struct signals_received *signal)
{
    struct message message;
    ssize_t len;

    if (front->state != FRONT_PRESENT)
        return next_own_signal(front, signal);
    len = recv(front->link, &message, sizeof(message), 0);
    if (len == sizeof(message)) {
        *signal =
            (struct signals_received){.number = message.number, .to_group = message.flag != 0};
        return FRONT_SIGNAL;
    }
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return next_own_signal(front, signal);
    hang_up(front, FRONT_KILLED);
    return FRONT_DIED;
}

bool front_group_has(struct front *front, const struct signals_received *signal)
{
    return signal->to_group ||
           (front->state == FRONT_ABSENT && witness_has_got(&front->witness, signal));
}

void front_before_command(const struct front *front)
{
    if (front->state == FRONT_ABSENT)
        witness_forget(&front->witness);
    else
        say(front->link, MESSAGE_FORGET, 0, false);
}

void front_introduce(const struct front *front, pid_t guard)
{
    if (front->state == FRONT_PRESENT)
        say(front->link, MESSAGE_GUARD, guard, false);
}

void front_stop(const struct front *front, int number, pid_t command, bool keeper_too)
{
    if (front->state != FRONT_ABSENT) {
        const struct message message = {
            .type = MESSAGE_STOP, .number = number, .flag = keeper_too, .command = command};

        send(front->link, &message, sizeof(message), MSG_NOSIGNAL);
        if (keeper_too)
            raise(SIGSTOP); /* the front continues the keeper */
    } else if (keeper_too) {
        signals_stop_self(number);
    }
}

void front_restore_terminal(struct front *front)
{
    front->restores_terminal = true;
}

void front_forsake(const struct front *front)
{
    struct pollfd link = {.fd = front->link, .events = POLLIN};
    struct message answer;

    prctl(PR_SET_CHILD_SUBREAPER, 0);
    if (front->state != FRONT_PRESENT)
        return;
    say(front->link, MESSAGE_FORSAKE, 0, false);
    while (poll(&link, 1, FORSAKE_PATIENCE_MS) == 1 &&
           recv(front->link, &answer, sizeof(answer), 0) == sizeof(answer) &&
           answer.type != MESSAGE_FORSAKE)
        continue;
}

/* The front goes on without the keeper. */
static void part(struct front *front)
{
    struct signals_received unheard;
    bool child = false;

    hang_up(front, FRONT_ABSENT);
    /* Signals so far were the front's business, except that children have ended. */
    while (signals_next(front->signal_fd, &unheard))
        child = child || unheard.number == SIGCHLD;
    if (child)
        raise(SIGCHLD);
}

void front_release(struct front *front, int status)
{
    say(front->link, MESSAGE_RELEASE, status, false);
    part(front);
}

bool front_become(struct front *front, const char *environment, size_t len)
{
    if (send(front->link, environment, len, MSG_NOSIGNAL) < 0 && errno != EPIPE)
        return false;
    say(front->link, MESSAGE_BECOME, 0, false);
    part(front);
    return true;
}

void front_end(struct front *front, int status)
{
    witness_end(&front->witness);
    if (front->state == FRONT_PRESENT)
        say(front->link, MESSAGE_END, status, front->restores_terminal);
}
