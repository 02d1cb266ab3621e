/*
 * A line of the log, put together as text, as JSON, or for the system's log.  No input or output.
 */
#ifndef ZKFLOCK_LOG_LINE_H
#define ZKFLOCK_LOG_LINE_H

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "base/log.h"

/*
 * Room for a line and its newline: what one write(2) does not mix with those of other processes,
 * and never blocks on where poll(2) says that it can be written.
 */
#define LOG_LINE_SIZE PIPE_BUF

/* Room for a message to the system's log, which has a head of its own. */
#define LOG_LINE_SYSTEM_SIZE (LOG_LINE_SIZE + 64)

enum log_severity {
    LOG_SEVERITY_ERROR,
    LOG_SEVERITY_WARNING,
    LOG_SEVERITY_NOTICE,
    LOG_SEVERITY_INFO,
    LOG_SEVERITY_DEBUG,
};

struct log_line {
    enum log_severity severity;
    const char *event;              /* its name in JSON; NULL: none */
    const struct log_field *fields; /* NULL: none */
    const char *source;             /* who says it; NULL: zkflock */
    const char *lock;               /* NULL: none */
    int64_t session;                /* 0: none yet */
    const char *place;              /* FILE:LINE that it is about; NULL: none */
    const char *message;
    pid_t pid;
    struct timespec time; /* CLOCK_REALTIME */
};

/*
 * Writes text with all that is no printable UTF-8 as \xNN, as much as fits, and a NUL; returns the
 * length.
 */
size_t log_line_printable(char *out, size_t size, const char *text);

/*
 * Write the line without a newline, as much of it as fits, and return its length.  A tagged text
 * says between [] what lock and session it is about.
 */
size_t log_line_text(const struct log_line *line, bool tagged, char out[LOG_LINE_SIZE]);
size_t log_line_json(const struct log_line *line, char out[LOG_LINE_SIZE]);

/* A datagram for the system's log, as syslog(3) would send it (RFC 3164, without the host). */
size_t log_line_system(const struct log_line *line, enum log_format format,
                       char out[LOG_LINE_SYSTEM_SIZE]);

#endif
