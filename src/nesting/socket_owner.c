#include "nesting/socket_owner.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct question {
    struct nlmsghdr head;
    struct unix_diag_req about;
};

/* Returns whether the reply of that length, in bytes, tells the user. */
static bool read_reply(const struct nlmsghdr *reply, size_t len, uid_t *uid)
{
    const struct rtattr *attribute;
    size_t left;

    if (!NLMSG_OK(reply, len) || reply->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        reply->nlmsg_len < NLMSG_SPACE(sizeof(struct unix_diag_msg)))
        return false;
    left = reply->nlmsg_len - NLMSG_SPACE(sizeof(struct unix_diag_msg));
    attribute = (const struct rtattr *)((const char *)NLMSG_DATA(reply) +
                                        NLMSG_ALIGN(sizeof(struct unix_diag_msg)));
    for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
        if (attribute->rta_type != UNIX_DIAG_UID || RTA_PAYLOAD(attribute) < sizeof(*uid))
            continue;
        memcpy(uid, RTA_DATA(attribute), sizeof(*uid));
        return true;
    }
    return false;
}

bool socket_owner(uint32_t inode, uid_t *uid)
{
    const struct question question = {
        .head = {.nlmsg_len = sizeof(question),
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST},
        .about = {.sdiag_family = AF_UNIX,
                  .udiag_states = UINT32_MAX,
                  .udiag_ino = inode,
                  .udiag_show = UDIAG_SHOW_UID,
                  .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
    };
    union {
        struct nlmsghdr head;
        char text[1024];
    } reply;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    bool told = false;

    if (fd < 0)
        return false;
    if (send(fd, &question, sizeof(question), 0) == sizeof(question)) {
        /* The kernel has answered when send() returns. */
        ssize_t len = recv(fd, &reply, sizeof(reply), MSG_DONTWAIT);

        told = len > 0 && read_reply(&reply.head, (size_t)len, uid);
    }
    close(fd);
    return told;
}
