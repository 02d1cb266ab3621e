#include "process/terminal.h"

#include <fcntl.h>
#include <unistd.h>

/* Returns a descriptor of the terminal, or -1. */
static int open_foreground(void)
{
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (fd >= 0 && tcgetpgrp(fd) != getpgrp()) {
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
