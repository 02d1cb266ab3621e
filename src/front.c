#include "front.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exitcode.h"
#include "log.h"

/* From the keeper: GUARD number is a pid, STOP a signal, END a status.  From the front: a signal.
 */
enum message_type { MESSAGE_SIGNAL, MESSAGE_GUARD, MESSAGE_STOP, MESSAGE_END };

struct message {
    int32_t type;
    int32_t number;
    int32_t flag; /* SIGNAL: from the terminal; STOP: the keeper too */
};

static void say(int link, enum message_type type, int number, bool flag)
{
    const struct message message = {.type = (int32_t)type, .number = number, .flag = flag};
    ssize_t sent = send(link, &message, sizeof(message), MSG_NOSIGNAL);

    (void)sent; /* that the other side is dead is found out by reading */
}

/* ---- the front's own life ---- */

static _Noreturn void keeper_died(pid_t guard)
{
    /* The guard, now this process's child, ends the command. */
    if (guard > 0)
        waitpid(guard, NULL, 0);
    log_error("the keeper process was killed, so the command was ended");
    _exit(EXITCODE_INTERNAL);
}

static _Noreturn void serve(int link, int signal_fd, pid_t keeper)
{
    struct pollfd fds[] = {{.fd = signal_fd, .events = POLLIN}, {.fd = link, .events = POLLIN}};
    struct signals_received signal;
    struct message message;
    pid_t guard = 0;

    for (;;) {
        poll(fds, 2, -1);
        while (signals_next(signal_fd, &signal))
            if (signal.number != SIGCHLD)
                say(link, MESSAGE_SIGNAL, signal.number, signal.from_terminal);

        ssize_t len = recv(link, &message, sizeof(message), 0);

        if (len == 0 || (len < 0 && errno != EAGAIN && errno != EINTR))
            keeper_died(guard);
        if (len < 0)
            continue;
        if (message.type == MESSAGE_END)
            _exit(message.number);
        if (message.type == MESSAGE_GUARD)
            guard = message.number;
        if (message.type == MESSAGE_STOP) {
            if (message.flag)
                kill(keeper, SIGSTOP);
            signals_stop_self(message.number);
            kill(keeper, SIGCONT);
        }
    }
}

/* ---- for the keeper ---- */

int front_start(struct front *front, struct command_inheritance *inherited)
{
    int ends[2];
    int signal_fd = signals_block(&inherited->mask, &inherited->ignores_child);

    inherited->process_group = getpgrp();
    if (signal_fd < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return -1;
    prctl(PR_SET_CHILD_SUBREAPER, 1);

    pid_t keeper = fork();

    if (keeper < 0)
        return -1;
    if (keeper > 0) {
        close(ends[1]);
        serve(ends[0], signal_fd, keeper);
    }
    close(ends[0]);
    setpgid(0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    *front = (struct front){.link = ends[1], .signal_fd = signal_fd};
    return 0;
}

enum front_news front_next(struct front *front, struct signals_received *signal)
{
    struct message message;
    ssize_t len = recv(front->link, &message, sizeof(message), 0);

    if (len == sizeof(message)) {
        *signal =
            (struct signals_received){.number = message.number, .from_terminal = message.flag != 0};
        return FRONT_SIGNAL;
    }
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return FRONT_NOTHING;
    close(front->link);
    front->link = -1;
    return FRONT_DIED;
}

void front_introduce(const struct front *front, pid_t guard)
{
    say(front->link, MESSAGE_GUARD, guard, false);
}

void front_stop(const struct front *front, int number, bool keeper_too)
{
    say(front->link, MESSAGE_STOP, number, keeper_too);
}

void front_end(struct front *front, int status)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null >= 0)
        for (int fd = 0; fd <= STDERR_FILENO; fd++)
            dup2(null, fd);
    if (front->link >= 0)
        say(front->link, MESSAGE_END, status, false);
}
