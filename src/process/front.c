#include "process/front.h"

#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "process/front_parts.h"
#include "process/process.h"

/* How long to wait for the answer; a front that is stopped gives none. */
enum { FORSAKE_PATIENCE_MS = 1000 };

int front_start(struct front *front, struct command *command, front_last_words *last_words)
{
    struct command_inheritance *inherited = &command->inherited;
    struct process self;
    /* Asks the kernel, since /dev/tty may be missing in a container or a chroot. */
    bool has_terminal = process_read(getpid(), &self) && self.terminal != 0;

    *front = (struct front){.state = FRONT_ABSENT, .link = -1};
    inherited->process_group = getpgrp();
    front->signal_fd = signals_block(&inherited->mask, &inherited->ignores_child);
    if (front->signal_fd < 0)
        return -1;
    if (command->hold || has_terminal) {
        front->link = front_split(front->signal_fd, command, last_words);
        if (front->link < 0)
            return -1;
        front->state = FRONT_PRESENT;
    }
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
    struct front_message message;
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
        front_say(front->link, (struct front_message){.type = MESSAGE_BEGIN});
}

void front_introduce(const struct front *front, pid_t guard)
{
    if (front->state == FRONT_PRESENT)
        front_say(front->link, (struct front_message){
                                   .type = MESSAGE_GUARD, .number = guard, .command = getpid()});
}

void front_stop(const struct front *front, int number, pid_t command, bool keeper_too)
{
    if (front->state != FRONT_ABSENT) {
        bool told = front_say(front->link, (struct front_message){.type = MESSAGE_STOP,
                                                                  .number = number,
                                                                  .flag = keeper_too,
                                                                  .command = command});

        if (keeper_too && told)
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
    struct front_message answer;

    prctl(PR_SET_CHILD_SUBREAPER, 0);
    if (front->state != FRONT_PRESENT)
        return;
    front_say(front->link, (struct front_message){.type = MESSAGE_FORSAKE});
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
    front_say(front->link, (struct front_message){.type = MESSAGE_RELEASE, .number = status});
    part(front);
}

bool front_become(struct front *front, const char *environment, size_t len)
{
    if (send(front->link, environment, len, MSG_NOSIGNAL) < 0 && errno != EPIPE)
        return false;
    front_say(front->link, (struct front_message){.type = MESSAGE_BECOME});
    part(front);
    return true;
}

void front_tell_status(const struct front *front, int status)
{
    if (front->state == FRONT_PRESENT)
        front_say(front->link, (struct front_message){.type = MESSAGE_END,
                                                      .number = status,
                                                      .flag = front->restores_terminal});
}

void front_end(struct front *front, int status)
{
    witness_end(&front->witness);
    front_tell_status(front, status);
}
