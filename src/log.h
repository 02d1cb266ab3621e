/*
 * Messages for the user, one line each, on stderr and never on stdout.
 *
 * A message never holds anything up: where stderr is a pipe that nobody empties, the line is
 * dropped after a tenth of a second, because a lock must not be lost for want of a reader.
 * Control characters in what is printed come out as \xNN, so a hostile name cannot drive a
 * terminal.  Any thread may call these.
 */
#ifndef ZKFLOCK_LOG_H
#define ZKFLOCK_LOG_H

enum log_level {
    LOG_LEVEL_ERROR,   /* why zkflock fails; -q leaves it */
    LOG_LEVEL_WARNING, /* silenced by -q */
    LOG_LEVEL_INFO,    /* -v: what happens to the lock */
    LOG_LEVEL_DEBUG,   /* -vv: what the ZooKeeper client library says */
};

enum log_format {
    LOG_FORMAT_TEXT,
    LOG_FORMAT_JSON,
};

/* Sets what is printed; before the first thread starts. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/*
 * Names the place in a file that the messages are about, as FILE:LINE, and begins them with it;
 * NULL ends that.  The text has to stay.
 */
void log_set_place(const char *place);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What is no fault and yet the reason for the exit status: the lock is busy.  -q silences it. */
void log_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
