#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "process/guard_state.h"
#include "process/helper.h"
#include "process/packet.h"
#include "process/tree.h"

int guard_start(struct guard *guard, const struct guard_mandate *mandate)
{
    pid_t keeper = getpid();
    int link;
    pid_t pid = helper_fork(&link, SOCK_NONBLOCK, TREE_GUARD_NAME);

    if (pid == 0)
        guard_process(link, keeper, mandate);
    if (pid < 0)
        return -1;
    *guard = (struct guard){.pid = pid, .link = link};
    return 0;
}

/* Sends an order that has no node. */
static void order(const struct guard *guard, const struct guard_message *message)
{
    send(guard->link, message, offsetof(struct guard_message, node), MSG_NOSIGNAL);
}

void guard_order(const struct guard *guard, enum guard_order type, int number)
{
    order(guard, &(struct guard_message){.type = (int32_t)type, .number = number});
}

bool guard_share(const struct guard *guard, int fd)
{
    const struct guard_message message = {.type = GUARD_SHARE};

    return packet_send(guard->link, &message, offsetof(struct guard_message, node), fd) >= 0 ||
           errno == EPIPE;
}

void guard_go(const struct guard *guard, const struct guard_message *terms, const char *node,
              const char *held)
{
    struct guard_message message = *terms;

    message.type = GUARD_GO;
    strncpy(message.node, node, sizeof(message.node) - 1);
    strncpy(message.held, held, sizeof(message.held) - 1);
    send(guard->link, &message, sizeof(message), MSG_NOSIGNAL);
}

void guard_extend(const struct guard *guard, int64_t lease_end)
{
    order(guard, &(struct guard_message){.type = GUARD_EXTEND, .lease_end = lease_end});
}

static void order_about(const struct guard *guard, enum guard_order type, const struct procid *user)
{
    order(guard, &(struct guard_message){
                     .type = (int32_t)type, .number = user->pid, .started = user->started});
}

void guard_keep(const struct guard *guard, const struct procid *user)
{
    order_about(guard, GUARD_KEEP, user);
}

void guard_spare(const struct guard *guard, const struct procid *user)
{
    order_about(guard, GUARD_SPARE, user);
}

bool guard_next(const struct guard *guard, struct guard_message *report)
{
    return recv(guard->link, report, sizeof(*report), 0) >=
           (ssize_t)offsetof(struct guard_message, node);
}
