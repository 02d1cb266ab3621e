#include "process/helper.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/xalloc.h"

/* The memory of the arguments, one behind the other, which the kernel shows as command line. */
static char *shown;
static size_t shown_size;

/* argv as it is used from now on; never freed.  volatile: else the compiler drops this reference.
 */
static char **volatile copy;

char **helper_copy_argv(int argc, char **argv)
{
    copy = xcalloc((size_t)argc + 1, sizeof(copy[0]));
    shown = argv[0];
    for (int i = 0; i < argc; i++) {
        copy[i] = xstrdup(argv[i]);
        if (argv[i] == shown + shown_size)
            shown_size += strlen(argv[i]) + 1;
    }
    return copy;
}

static void set_title(const char *title)
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
        set_title(title);
    errno = error;
    return pid;
}
