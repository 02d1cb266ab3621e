#include "process/packet.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Room for one descriptor; aligned as the header has to be. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

ssize_t packet_send(int socket, const void *data, size_t len, int fd)
{
    struct iovec part = {.iov_base = (void *)data, .iov_len = len};
    union control control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
                                        .cmsg_level = SOL_SOCKET,
                                        .cmsg_type = SCM_RIGHTS}};
    struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};

    if (fd >= 0) {
        memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
        packet.msg_control = &control;
        packet.msg_controllen = sizeof(control);
    }
    return sendmsg(socket, &packet, MSG_NOSIGNAL);
}

ssize_t packet_receive(int socket, void *data, size_t size, int *fd, bool *lost)
{
    struct iovec part = {.iov_base = data, .iov_len = size};
    union control control = {0};
    struct msghdr packet = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = &control,
                            .msg_controllen = CMSG_LEN(sizeof(int))}; /* all has room for two */
    ssize_t len = recvmsg(socket, &packet, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *header = len >= 0 ? CMSG_FIRSTHDR(&packet) : NULL;
    bool cut = len >= 0 && (packet.msg_flags & MSG_CTRUNC);

    *fd = -1;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(header), sizeof(*fd));
    if (cut && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    if (lost)
        *lost = cut;
    return len;
}
