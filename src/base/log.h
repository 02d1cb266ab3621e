/*
 * Messages for the user, one line each, on stderr and if wanted in the system's log too, never on
 * stdout.
 *
 * A message never holds anything up: where stderr is a pipe that nobody empties, the line is
 * dropped after a tenth of a second, because a lock must not be lost for want of a reader; the
 * system's log is not waited for at all.  Bytes that cannot be printed come out as \xNN, so a
 * hostile name cannot drive a terminal.  Any thread may call these.
 *
 * Until log_open() lines are text and go to stderr alone.
 */
#ifndef ZKFLOCK_LOG_H
#define ZKFLOCK_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level {
    LOG_LEVEL_ERROR,   /* why zkflock fails; -q leaves it */
    LOG_LEVEL_WARNING, /* silenced by -q */
    LOG_LEVEL_INFO,    /* -v: what happens to the lock; always told to the system's log */
    LOG_LEVEL_DEBUG,   /* -vv: what the ZooKeeper client library says */
};

enum log_format {
    LOG_FORMAT_TEXT,
    LOG_FORMAT_JSON,
};

struct log_options {
    enum log_level level; /* of what goes to stderr */
    enum log_format format;
    bool to_system;   /* to the system's log as well */
    const char *lock; /* what lines are about, to stay; NULL: no lock */
};

/*
 * Says where lines go and what they look like; before the first fork, so that all processes of a
 * run know its session, and before the first thread.
 */
void log_open(const struct log_options *options);
enum log_level log_get_level(void);

/*
 * From now on lines of this process are about this lock; NULL: no lock.  The text has to stay.  To
 * be called while no other thread may write a line.
 */
void log_set_lock(const char *lock);

/* From now on lines of this thread are about this lock; NULL: about that of the process again. */
void log_set_thread_lock(const char *lock);

/* From now on lines are about this session, in all processes of the run. */
void log_set_session(int64_t id);

/*
 * Names the place in a file that the messages are about, as FILE:LINE, and begins them with it;
 * NULL ends that.  The text has to stay.
 */
void log_set_place(const char *place);

/*
 * Calls this function before each line that goes to stderr, in the thread that writes the line.
 * To be called before the first thread.
 */
void log_set_before_write(void (*function)(void));

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Says what log_error() says, and returns the exit status that goes with it. */
int log_failure(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Tells a reason for the exit status that is no fault: the lock is busy.  -q silences it. */
void log_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Passes on what the client library says. */
void log_library(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Events in the life of a lock, in their order.  Their names and fields in JSON are in
 * the manual and stay as they are.
 */
enum log_event {
    LOG_CONNECTED,
    LOG_QUEUED,
    LOG_BUSY,       /* a notice */
    LOG_BUSY_FAULT, /* called the same, but an error: no server answers */
    LOG_ACQUIRED,
    LOG_PROOF_LATE,
    LOG_PROOF_ANSWERED,
    LOG_LOST,       /* an error; all but these three are told at the level of log_info() */
    LOG_LOST_EARLY, /* called the same; before the command was started, and it is tried again */
    LOG_RELEASED,
    LOG_SKIPPED,
    LOG_EXIT,
};

/* A field of an event, of which one member counts. */
struct log_field {
    const char *name; /* ends in _s for a span */
    enum { LOG_END, LOG_TEXT, LOG_NUMBER, LOG_SPAN } type;
    const char *text; /* NULL: the field is left out */
    int64_t number;   /* LOG_SPAN: ns */
};

/* The fields end in one of type LOG_END, as {0} is; the rest is the line as text. */
void log_event(enum log_event event, const struct log_field *fields, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
