#include "process/front_parts.h"

#include <errno.h>
#include <poll.h>
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

bool front_say(int link, struct front_message message)
{
    return send(link, &message, sizeof(message), MSG_NOSIGNAL) == sizeof(message);
}

struct front_process {
    const struct command *command;
    int link;
    int signal_fd;
    pid_t child; /* the keeper; with command->in_place what stands in between */
    pid_t keeper;
    pid_t guard;
    int status;       /* -1: not known yet */
    bool begun;       /* the command was about to start */
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

/*
 * Waits for the guard of a killed keeper, now a child of the front, to give the place in the queue
 * back; not for a caller who does not want to wait.
 */
static void await_guard(const struct front_process *process)
{
    struct pollfd fd = {.fd = process->signal_fd, .events = POLLIN};
    struct signals_received signal = {0};

    while (process->guard > 0 && waitpid(process->guard, NULL, WNOHANG) == 0) {
        poll(&fd, 1, -1); /* SIGCHLD is one of them */
        while (signals_next(process->signal_fd, &signal))
            if (signals_end(signal.number))
                return;
    }
}

/* Says what the keeper's death means; returns the status to end with. */
static int say_killed(const struct front_process *process)
{
    const struct command *command = process->command;
    const char *what = "the command";
    const char *fate = process->begun ? "was ended" : "was not started";

    if (command->hold && process->begun) {
        what = command->argv[0];
    } else if (command->hold && !command->in_place) {
        what = "the lock";
        fate = "was not taken";
    }
    return log_failure(EXITCODE_INTERNAL, "the keeper process was killed, so %s %s", what, fate);
}

/*
 * Ends the front when the link has closed: the keeper has ended by itself, or was killed.  The
 * guard has the link open, too, until nothing is left of the command.
 */
static _Noreturn void finish(struct front_process *process)
{
    /* What stands in between has stopped with a keeper that was stopped, and may still be. */
    if (process->command->in_place)
        kill(process->child, SIGKILL);
    waitpid(process->child, NULL, 0);
    if (process->status < 0 || process->restores_terminal)
        terminal_restore(&process->terminal);
    if (process->status < 0)
        process->status = say_killed(process);
    await_guard(process);
    end(process, process->status);
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
        front_say(link,
                  (struct front_message){
                      .type = MESSAGE_END,
                      .number = log_failure(EXITCODE_OSERR, "cannot start: %s", strerror(errno))});
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

/*
 * Ends the front if what stands in between was killed: the keeper may be a child of this process
 * now, and gives the lock back when this process has ended.
 */
static void end_if_adopting(struct front_process *process)
{
    siginfo_t info = {0};

    waitid(P_PID, (id_t)process->child, &info, WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid && info.si_code != CLD_EXITED)
        end(process,
            log_failure(EXITCODE_INTERNAL,
                        "a process of zkflock was killed, so the command was not started"));
}

static _Noreturn void become(struct front_process *process)
{
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    end_if_adopting(process); /* a death from now on gives the keeper another parent */
    kill(process->child, SIGKILL);
    waitpid(process->child, NULL, 0);
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

    if (len <= (ssize_t)sizeof(struct front_message))
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
static bool is_still_due(const struct front_process *process, const struct front_message *stop)
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
static void stop(struct front_process *process, const struct front_message *message)
{
    raise(message->number);

    bool due = is_still_due(process, message);

    forget_stops(process);
    /* First wait for the keeper to stop itself: it must not get the lock in between. */
    if (message->flag)
        waitid(P_PID, (id_t)process->child, &(siginfo_t){0}, WSTOPPED | WEXITED | WNOWAIT);
    signals_settle_stop(message->number, due);
    /* Somebody may have stopped what stands in between before the keeper has stopped. */
    if (process->command->in_place)
        kill(process->keeper, SIGCONT);
    kill(process->child, SIGCONT);
}

static void hear_keeper(struct front_process *process)
{
    struct front_message message;
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
        process->keeper = message.command;
    } else if (message.type == MESSAGE_BEGIN) {
        process->begun = true;
        witness_forget(&process->witness);
    } else if (message.type == MESSAGE_FORSAKE) {
        prctl(PR_SET_CHILD_SUBREAPER, 0);
        front_say(process->link, (struct front_message){.type = MESSAGE_FORSAKE});
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
    front_say(process->link,
              (struct front_message){.type = MESSAGE_SIGNAL,
                                     .number = number,
                                     .flag = signal->from_terminal
                                                 ? !leader_alone
                                                 : witness_has_got(&process->witness, signal)});
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
        if (process->command->in_place)
            end_if_adopting(process);
        hear_keeper(process);
    }
}

static bool subreaper(void)
{
    int is = 0;

    prctl(PR_GET_CHILD_SUBREAPER, &is);
    return is;
}

int front_split(int signal_fd, const struct command *command, front_last_words *last_words)
{
    struct front_process process = {.command = command,
                                    .signal_fd = signal_fd,
                                    .status = -1,
                                    .last_words = last_words,
                                    .was_subreaper = subreaper()};

    sigemptyset(&process.passed_on);
    if (!command->hold)
        terminal_save(&process.terminal);
    /* Before the fork, so that the front adopts the orphans of a keeper that dies at once. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    process.child = helper_fork(&process.link, SOCK_NONBLOCK, NULL);
    if (process.child < 0)
        return -1;
    if (process.child > 0) {
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
    return process.link;
}
