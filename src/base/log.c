#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log_line.h"
#include "base/log_syslog.h"

enum { PATIENCE_MS = 100 };

/* Shared by all processes of a run. */
struct shared {
    _Atomic int64_t session;
    atomic_bool system_failed;
};

static struct log_options settings = {.level = LOG_LEVEL_WARNING};
static struct shared own;
static struct shared *shared = &own;
static const char *current_place;
static void (*before_write)(void);

void log_open(const struct log_options *options)
{
    void *memory = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    settings = *options;
    if (memory != MAP_FAILED)
        shared = memory; /* else each process knows what it has found out itself */
}

enum log_level log_get_level(void)
{
    return settings.level;
}

const char *log_set_lock(const char *lock)
{
    const char *before = settings.lock;

    settings.lock = lock;
    return before;
}

void log_set_session(int64_t id)
{
    atomic_store(&shared->session, id);
}

void log_set_place(const char *place)
{
    current_place = place;
}

void log_set_before_write(void (*function)(void))
{
    before_write = function;
}

/* ---- where lines go ---- */

/* One write(2) of at most PIPE_BUF bytes, so that lines of several processes do not mix. */
static void put_line(const char *line, size_t len)
{
    static atomic_bool stuck;
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

    if (before_write)
        before_write();
    if (poll(&out, 1, atomic_load(&stuck) ? 0 : PATIENCE_MS) != 1) {
        atomic_store(&stuck, 1);
        return;
    }
    atomic_store(&stuck, 0);
    if (write(STDERR_FILENO, line, len) < 0)
        return; /* nobody is left to be told */
}

static void put(const struct log_line *line)
{
    char text[LOG_LINE_SIZE];
    size_t len = settings.format == LOG_FORMAT_JSON
                     ? log_line_json(line, text)
                     : log_line_text(line, settings.level >= LOG_LEVEL_INFO, text);

    text[len++] = '\n';
    put_line(text, len);
}

static void put_to_system(const struct log_line *line)
{
    char datagram[LOG_LINE_SYSTEM_SIZE];
    size_t len = log_line_system(line, settings.format, datagram);
    int error = log_syslog_send(datagram, len);

    if (error && !atomic_exchange(&shared->system_failed, true))
        log_warning("the system's log does not take messages (%s); some or all are missing there",
                    error == EAGAIN ? "it is not being read" : strerror(error));
}

/* ---- what is said ---- */

static enum log_level level_of(enum log_severity severity)
{
    static const enum log_level levels[] = {
        [LOG_SEVERITY_ERROR] = LOG_LEVEL_ERROR,    [LOG_SEVERITY_WARNING] = LOG_LEVEL_WARNING,
        [LOG_SEVERITY_NOTICE] = LOG_LEVEL_WARNING, [LOG_SEVERITY_INFO] = LOG_LEVEL_INFO,
        [LOG_SEVERITY_DEBUG] = LOG_LEVEL_DEBUG,
    };

    return levels[severity];
}

/* Completes the line with what all lines say, and writes it. */
static void say(struct log_line line, const char *format, va_list args)
{
    enum log_level level = level_of(line.severity);
    bool to_system = settings.to_system && (level <= LOG_LEVEL_INFO || level <= settings.level);
    char message[LOG_LINE_SIZE];
    int error = errno;

    if (level > settings.level && !to_system)
        return;
    vsnprintf(message, sizeof(message), format, args);
    line.lock = settings.lock;
    line.session = atomic_load(&shared->session);
    line.place = current_place;
    line.message = message;
    line.pid = getpid();
    clock_gettime(CLOCK_REALTIME, &line.time);
    if (level <= settings.level)
        put(&line);
    if (to_system)
        put_to_system(&line);
    errno = error;
}

#define LOG_FUNCTION(name, LEVEL)                                                                  \
    void name(const char *format, ...)                                                             \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, format);                                                                    \
        say((struct log_line){.severity = (LEVEL)}, format, args);                                 \
        va_end(args);                                                                              \
    }

LOG_FUNCTION(log_error, LOG_SEVERITY_ERROR)
LOG_FUNCTION(log_warning, LOG_SEVERITY_WARNING)
LOG_FUNCTION(log_notice, LOG_SEVERITY_NOTICE)
LOG_FUNCTION(log_info, LOG_SEVERITY_INFO)
LOG_FUNCTION(log_debug, LOG_SEVERITY_DEBUG)

static void say_for(const struct log_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say_for(const struct log_line *line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(*line, format, args);
    va_end(args);
}

void log_library(const char *text, int len)
{
    say_for(&(struct log_line){.severity = LOG_SEVERITY_DEBUG, .source = "zookeeper"}, "%.*s", len,
            text);
}

void log_event(enum log_event event, const struct log_field *fields, const char *format, ...)
{
    enum log_severity severity = event == LOG_LOST || event == LOG_BUSY_FAULT ? LOG_SEVERITY_ERROR
                                 : event == LOG_BUSY                          ? LOG_SEVERITY_NOTICE
                                                                              : LOG_SEVERITY_INFO;
    va_list args;

    va_start(args, format);
    say((struct log_line){.severity = severity, .event = event, .fields = fields}, format, args);
    va_end(args);
}
