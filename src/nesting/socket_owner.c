#include "nesting/socket_owner.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct question {
    struct nlmsghdr head;
    struct unix_diag_req about;
};

/* Returns the attribute of that type in the reply of len bytes; NULL: it has none. */
static const struct rtattr *attribute_of(const struct nlmsghdr *reply, size_t len, int type)
{
    const size_t head = NLMSG_SPACE(sizeof(struct unix_diag_msg));
    const struct rtattr *attribute;
    size_t left;

    if (!NLMSG_OK(reply, len) || reply->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        reply->nlmsg_len < head)
        return NULL;
    left = reply->nlmsg_len - head;
    attribute = (const struct rtattr *)((const char *)reply + head);
    while (RTA_OK(attribute, left) && attribute->rta_type != type)
        attribute = RTA_NEXT(attribute, left);
    return RTA_OK(attribute, left) ? attribute : NULL;
}

/* The name's first byte is 0, and none is behind it. */
static bool is_name(const struct rtattr *attribute, const char *name)
{
    return attribute && RTA_PAYLOAD(attribute) == 1 + strlen(name) &&
           memcmp((const char *)RTA_DATA(attribute) + 1, name, strlen(name)) == 0;
}

/* Fills in the user, or (uid_t)-1; returns whether the kernel has told it. */
static bool ask(uint32_t inode, const char *name, uid_t *uid)
{
    const struct question question = {
        .head = {.nlmsg_len = sizeof(question),
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST},
        .about = {.sdiag_family = AF_UNIX,
                  .udiag_states = UINT32_MAX,
                  .udiag_ino = inode,
                  .udiag_show = UDIAG_SHOW_UID | UDIAG_SHOW_NAME,
                  .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
    };
    union {
        struct nlmsghdr head;
        char text[1024];
    } reply;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    const struct rtattr *owner = NULL;

    *uid = (uid_t)-1;
    if (fd < 0)
        return false;
    if (send(fd, &question, sizeof(question), 0) == sizeof(question)) {
        /* The kernel has answered when send() returns. */
        ssize_t len = recv(fd, &reply, sizeof(reply), MSG_DONTWAIT);

        if (len > 0)
            owner = attribute_of(&reply.head, (size_t)len, UNIX_DIAG_UID);
        if (owner && is_name(attribute_of(&reply.head, (size_t)len, UNIX_DIAG_NAME), name))
            memcpy(uid, RTA_DATA(owner), sizeof(*uid));
    }
    close(fd);
    return owner;
}

/* Returns whether the kernel tells such things: it knows no error of its own for that. */
static bool is_told(void)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct stat st;
    uid_t uid;
    bool told = fd >= 0 && fstat(fd, &st) == 0 && ask((uint32_t)st.st_ino, "", &uid);

    if (fd >= 0)
        close(fd);
    return told;
}

bool socket_owner(uint32_t inode, const char *name, uid_t *uid)
{
    return ask(inode, name, uid) || is_told();
}
