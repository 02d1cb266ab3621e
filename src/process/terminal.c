#include "process/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* Returns whether nobody else is in the foreground: a shell that was killed leaves nobody there. */
static bool is_ours(int fd)
{
    pid_t foreground = tcgetpgrp(fd);

    return foreground == getpgrp() ||
           (foreground > 0 && kill(-foreground, 0) < 0 && errno == ESRCH);
}

/* Returns a descriptor of the terminal, or -1. */
static int open_foreground(void)
{
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (fd >= 0 && !is_ours(fd)) {
        close(fd);
        return -1;
    }
    return fd;
}

void terminal_save(struct terminal *terminal)
{
    int fd = open_foreground();

    terminal->saved = fd >= 0 && tcgetattr(fd, &terminal->settings) == 0;
    if (fd >= 0)
        close(fd);
}

void terminal_restore(const struct terminal *terminal)
{
    int fd = terminal->saved ? open_foreground() : -1;

    if (fd < 0)
        return;
    tcsetattr(fd, TCSANOW, &terminal->settings);
    close(fd);
}
