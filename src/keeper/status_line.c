#include "keeper/status_line.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "process/process.h"

enum { WIDTH_UNKNOWN = 80, TEXT_MAX = 1024 };

/* The library's threads clear the line, too, before what they log. */
static atomic_bool shown;

/* Returns whether the terminal can clear a line. */
static bool can_clear(void)
{
    const char *term = getenv("TERM");

    return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

bool status_line_wanted(pid_t process_group, bool under_hold)
{
    struct process parent;
    pid_t foreground;

    if (!can_clear())
        return false;
    if (under_hold)
        return !process_read(getppid(), &parent) || parent.foreground < 0 ||
               parent.foreground == process_group;
    foreground = tcgetpgrp(STDERR_FILENO);
    return foreground < 0 ? errno == ENOTTY : foreground == process_group;
}

static size_t width(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 2)
        return WIDTH_UNKNOWN;
    return size.ws_col;
}

/* A terminal that is held back with Ctrl-S must hold nothing else up. */
static bool put(const char *text, size_t len)
{
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

    return poll(&out, 1, 0) == 1 && write(STDERR_FILENO, text, len) == (ssize_t)len;
}

/*
 * Returns how many columns this byte of UTF-8 takes, at the most: characters of three bytes and
 * more may be wide, and the bytes behind the first one take none.
 */
static size_t columns_of(char byte)
{
    unsigned char c = (unsigned char)byte;

    return (c & 0xc0) == 0x80 ? 0 : c >= 0xe0 ? 2 : 1;
}

void status_line_show(const char *text)
{
    char line[TEXT_MAX + 16];
    size_t columns = width() - 1; /* in the last one some terminals wrap */
    size_t len = (size_t)sprintf(line, "\r");

    for (const char *p = text; *p && len < TEXT_MAX; p++) {
        if (columns_of(*p) > columns)
            break;
        columns -= columns_of(*p);
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            line[len++] = '?';
        else
            line[len++] = *p;
    }
    len += (size_t)sprintf(line + len, "\x1b[K");
    if (put(line, len))
        atomic_store(&shown, true);
}

void status_line_clear(void)
{
    static const char clear[] = "\r\x1b[K";

    if (atomic_exchange(&shown, false))
        put(clear, sizeof(clear) - 1);
}
