#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "process/guard_state.h"
#include "process/helper.h"

int guard_start(struct guard *guard, const struct guard_mandate *mandate)
{
    pid_t keeper = getpid();
    int link;
    pid_t pid = helper_fork(&link, SOCK_NONBLOCK);

    if (pid == 0)
        guard_process(link, keeper, mandate);
    if (pid < 0)
        return -1;
    *guard = (struct guard){.pid = pid, .link = link};
    return 0;
}

/*
 * Never blocks, and drops the order if the link is full.  It is full only when the guard is
 * stopped, and then the guard must not hold up the keeper.
 */
static void order(const struct guard *guard, const struct guard_message *message, size_t len)
{
    ssize_t sent = send(guard->link, message, len, MSG_NOSIGNAL);

    (void)sent;
}

static void order_short(const struct guard *guard, enum guard_order type, int number,
                        int64_t lease_end)
{
    const struct guard_message message = {
        .type = (int32_t)type, .number = number, .lease_end = lease_end};

    order(guard, &message, offsetof(struct guard_message, node));
}

void guard_share(const struct guard *guard, int fd)
{
    struct guard_message message = {.type = GUARD_SHARE};
    struct iovec data = {.iov_base = &message, .iov_len = offsetof(struct guard_message, node)};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr packet = {.msg_iov = &data,
                            .msg_iovlen = 1,
                            .msg_control = &control,
                            .msg_controllen = sizeof(control)};

    control.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));

    ssize_t sent = sendmsg(guard->link, &packet, MSG_NOSIGNAL);

    (void)sent; /* as in order() */
}

void guard_go(const struct guard *guard, const struct guard_message *terms, const char *node,
              const char *held)
{
    struct guard_message message = *terms;

    message.type = GUARD_GO;
    strncpy(message.node, node, sizeof(message.node) - 1);
    strncpy(message.held, held, sizeof(message.held) - 1);
    order(guard, &message, sizeof(message));
}

void guard_extend(const struct guard *guard, int64_t lease_end)
{
    order_short(guard, GUARD_EXTEND, 0, lease_end);
}

void guard_signal(const struct guard *guard, int signal, bool group_has_it)
{
    order_short(guard, group_has_it ? GUARD_SIGNAL_OUTSIDE : GUARD_SIGNAL, signal, 0);
}

void guard_ask(const struct guard *guard, int signal)
{
    order_short(guard, GUARD_ASK, signal, 0);
}

void guard_keep(const struct guard *guard, const struct procid *user)
{
    const struct guard_message message = {
        .type = GUARD_KEEP, .number = user->pid, .started = user->started};

    order(guard, &message, offsetof(struct guard_message, node));
}

void guard_unused(const struct guard *guard)
{
    order_short(guard, GUARD_UNUSED, 0, 0);
}

void guard_release(const struct guard *guard)
{
    order_short(guard, GUARD_RELEASE, 0, 0);
}

void guard_kill(const struct guard *guard, bool whatever)
{
    order_short(guard, GUARD_KILL, whatever, 0);
}

void guard_dismiss(const struct guard *guard)
{
    order_short(guard, GUARD_DISMISS, 0, 0);
}

bool guard_next(const struct guard *guard, struct guard_message *report)
{
    ssize_t len;

    do {
        len = recv(guard->link, report, sizeof(*report), 0);
    } while (len < 0 && errno == EINTR);
    return len >= (ssize_t)offsetof(struct guard_message, node);
}
