#include "process/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void point_to_null(int fd, int flags)
{
    int null = open("/dev/null", flags | O_CLOEXEC);

    dup2(null, fd);
    if (null > STDERR_FILENO)
        close(null);
}

void detach_descriptors(int *kept, size_t count)
{
    unsigned int first = STDERR_FILENO + 1;

    qsort(kept, count, sizeof(kept[0]), by_number);
    for (size_t i = 0; i < count; i++) {
        if ((unsigned int)kept[i] > first)
            close_range(first, (unsigned int)kept[i] - 1, 0);
        first = (unsigned int)kept[i] + 1;
    }
    close_range(first, ~0U, 0);
    point_to_null(STDIN_FILENO, O_RDONLY);
}

/*
 * Returns whether somebody may wait for the end of stderr, as a shell with $(... 2>&1) does: stderr
 * is a pipe or one of a pair of sockets, which have no name.  Nobody waits for the end of a socket
 * that has a name, as that of systemd's journal.
 */
static bool stderr_may_be_awaited(void)
{
    struct sockaddr_un peer = {0};
    socklen_t len = sizeof(peer);
    struct stat st;

    if (fstat(STDERR_FILENO, &st) < 0 || !S_ISSOCK(st.st_mode))
        return S_ISFIFO(st.st_mode);
    return getpeername(STDERR_FILENO, (struct sockaddr *)&peer, &len) < 0 ||
           peer.sun_family != AF_UNIX || len <= sizeof(peer.sun_family);
}

void detach_output(void)
{
    if (stderr_may_be_awaited())
        point_to_null(STDERR_FILENO, O_WRONLY);
    point_to_null(STDOUT_FILENO, O_WRONLY);
}

void detach_directory(void)
{
    if (chdir("/") < 0)
        log_debug("cannot leave the working directory: %s", strerror(errno));
}
