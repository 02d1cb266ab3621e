#include "process/helper.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

pid_t helper_fork(int *link, int flags)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0, ends) < 0)
        return -1;

    pid_t pid = fork();
    int error = errno;

    *link = ends[pid == 0];
    close(ends[pid != 0]);
    if (pid < 0)
        close(*link);
    errno = error;
    return pid;
}
