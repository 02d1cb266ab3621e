#include "process/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"

/* The memory of the arguments, one behind the other, which the kernel shows as command line. */
static char *shown;
static size_t shown_size;

/* Neither is ever freed.  volatile: else the compiler drops these references to them. */
static char **volatile copy; /* argv as it is used from now on */
static char *volatile texts; /* what copy points to, as long as nobody changes it */

char **helper_copy_argv(int argc, char **argv)
{
    size_t size = 0;

    for (int i = 0; i < argc; i++)
        size += strlen(argv[i]) + 1;
    copy = xcalloc((size_t)argc + 1, sizeof(copy[0]));
    texts = xcalloc(size + 1, 1);
    shown = argv[0];

    char *end = texts;

    for (int i = 0; i < argc; i++) {
        copy[i] = end;
        end = stpcpy(end, argv[i]) + 1;
        if (argv[i] == shown + shown_size)
            shown_size += strlen(argv[i]) + 1;
    }
    return copy;
}

void helper_set_title(const char *title)
{
    prctl(PR_SET_NAME, title);
    if (shown_size == 0)
        return;
    /* The last byte stays 0: else the kernel would show the environment, too. */
    memset(shown, 0, shown_size);
    strncpy(shown, title, shown_size - 1);
}

pid_t helper_fork(int *link, int flags, const char *title)
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
    if (pid == 0 && title)
        helper_set_title(title);
    errno = error;
    return pid;
}

/* ---- for one that stays behind ---- */

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

void helper_detach_descriptors(int *kept, size_t count)
{
    int first = STDERR_FILENO + 1;

    qsort(kept, count, sizeof(kept[0]), by_number);
    for (size_t i = 0; i < count; i++) {
        for (int fd = first; fd < kept[i]; fd++)
            close(fd);
        if (kept[i] >= first)
            first = kept[i] + 1;
    }
    closefrom(first);
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

void helper_detach_output(void)
{
    if (stderr_may_be_awaited())
        point_to_null(STDERR_FILENO, O_WRONLY);
    point_to_null(STDOUT_FILENO, O_WRONLY);
}

void helper_detach_directory(void)
{
    if (chdir("/") < 0)
        log_debug("cannot leave the working directory: %s", strerror(errno));
}
