#include "base/log_syslog.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

int log_syslog_send(const char *datagram, size_t len)
{
    const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = _PATH_LOG};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int error = 0;

    if (fd < 0)
        return errno;
    if (sendto(fd, datagram, len, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&address,
               sizeof(address)) < 0)
        error = errno;
    close(fd);
    return error;
}
