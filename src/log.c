#include "log.h"

#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "status_line.h"

enum { PATIENCE_MS = 100 };

static enum log_level threshold = LOG_LEVEL_WARNING;
static const char *current_place;

void log_set_level(enum log_level level)
{
    threshold = level;
}

enum log_level log_get_level(void)
{
    return threshold;
}

void log_set_place(const char *place)
{
    current_place = place;
}

/* Appends text with its control characters made visible; returns the new length. */
static size_t append_printable(char *line, size_t len, size_t size, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p < 0x20 || *p == 0x7f) {
            if (len + 4 >= size)
                break;
            len += (size_t)snprintf(line + len, size - len, "\\x%02x", *p);
        } else {
            if (len + 1 >= size)
                break;
            line[len++] = (char)*p;
        }
    }
    return len;
}

/* One write(2) of at most PIPE_BUF bytes, so that lines of several processes do not mix. */
static void put_line(const char *line, size_t len)
{
    static atomic_bool stuck;
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

    status_line_clear();
    if (poll(&out, 1, atomic_load(&stuck) ? 0 : PATIENCE_MS) != 1) {
        atomic_store(&stuck, 1);
        return;
    }
    atomic_store(&stuck, 0);
    if (write(STDERR_FILENO, line, len) < 0)
        return; /* nobody is left to be told */
}

static void log_line(enum log_level level, const char *prefix, const char *format, va_list args)
{
    char text[PIPE_BUF - 64];
    char line[PIPE_BUF];

    if (level > threshold)
        return;
    vsnprintf(text, sizeof(text), format, args);

    size_t len = (size_t)snprintf(line, sizeof(line), "zkflock: %s", prefix);

    if (current_place) {
        len = append_printable(line, len, sizeof(line) - 1, current_place);
        len = append_printable(line, len, sizeof(line) - 1, ": ");
    }
    len = append_printable(line, len, sizeof(line) - 1, text);
    line[len++] = '\n';
    put_line(line, len);
}

#define LOG_FUNCTION(name, level, prefix)                                                          \
    void name(const char *format, ...)                                                             \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, format);                                                                    \
        log_line(level, prefix, format, args);                                                     \
        va_end(args);                                                                              \
    }

LOG_FUNCTION(log_error, LOG_LEVEL_ERROR, "")
LOG_FUNCTION(log_warning, LOG_LEVEL_WARNING, "warning: ")
LOG_FUNCTION(log_notice, LOG_LEVEL_WARNING, "")
LOG_FUNCTION(log_info, LOG_LEVEL_INFO, "")
LOG_FUNCTION(log_debug, LOG_LEVEL_DEBUG, "")
