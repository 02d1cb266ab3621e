#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "base/log_line.h"

enum { PATIENCE_MS = 100 };

static const enum log_level levels[] = {
    [LOG_SEVERITY_ERROR] = LOG_LEVEL_ERROR,    [LOG_SEVERITY_WARNING] = LOG_LEVEL_WARNING,
    [LOG_SEVERITY_NOTICE] = LOG_LEVEL_WARNING, [LOG_SEVERITY_INFO] = LOG_LEVEL_INFO,
    [LOG_SEVERITY_DEBUG] = LOG_LEVEL_DEBUG,
};

static const struct {
    const char *name; /* in JSON */
    enum log_severity severity;
} events[] = {
    [LOG_CONNECTED] = {"connected", LOG_SEVERITY_INFO},
    [LOG_QUEUED] = {"queued", LOG_SEVERITY_INFO},
    [LOG_BUSY] = {"busy", LOG_SEVERITY_NOTICE},
    [LOG_BUSY_FAULT] = {"busy", LOG_SEVERITY_ERROR},
    [LOG_ACQUIRED] = {"acquired", LOG_SEVERITY_INFO},
    [LOG_PROOF_LATE] = {"proof_late", LOG_SEVERITY_INFO},
    [LOG_PROOF_ANSWERED] = {"proof_answered", LOG_SEVERITY_INFO},
    [LOG_LOST] = {"lost", LOG_SEVERITY_ERROR},
    [LOG_LOST_EARLY] = {"lost", LOG_SEVERITY_INFO},
    [LOG_RELEASED] = {"released", LOG_SEVERITY_INFO},
    [LOG_SKIPPED] = {"skipped", LOG_SEVERITY_INFO},
    [LOG_EXIT] = {"exit", LOG_SEVERITY_INFO},
};

/* Shared by all processes of a run. */
struct shared {
    _Atomic int64_t session;
    atomic_bool system_failed;
};

static struct log_options settings = {.level = LOG_LEVEL_WARNING};
static struct shared own;
static struct shared *shared = &own;
static const char *current_place;
static _Thread_local const char *thread_lock; /* NULL: that of the settings */
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

void log_set_lock(const char *lock)
{
    settings.lock = lock;
}

void log_set_thread_lock(const char *lock)
{
    thread_lock = lock;
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
static void put(const struct log_line *line)
{
    static atomic_bool stuck;
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    char text[LOG_LINE_SIZE];
    size_t len = settings.format == LOG_FORMAT_JSON
                     ? log_line_json(line, text)
                     : log_line_text(line, settings.level >= LOG_LEVEL_INFO, text);

    text[len++] = '\n';
    if (before_write)
        before_write();
    if (poll(&out, 1, atomic_load(&stuck) ? 0 : PATIENCE_MS) != 1) {
        atomic_store(&stuck, 1);
        return;
    }
    atomic_store(&stuck, 0);
    if (write(STDERR_FILENO, text, len) < 0)
        return; /* nobody is left to be told */
}

/*
 * Sends a datagram to the system's log, or drops it; returns 0 or errno.  syslog(3) would wait for
 * a reader that does not read.  Leaves no descriptor open: code that forks, executes and closes
 * descriptors need not know of one.
 */
static int send_to_system(const char *datagram, size_t len)
{
    const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = _PATH_LOG};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int error = 0;

    if (fd < 0)
        return errno;
    if (sendto(fd, datagram, len, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&address,
               sizeof(address)) < 0)
        error = errno;
    close(fd);
    return error;
}

static void put_to_system(const struct log_line *line)
{
    char datagram[LOG_LINE_SYSTEM_SIZE];
    size_t len = log_line_system(line, settings.format, datagram);
    int error = send_to_system(datagram, len);

    if (error && !atomic_exchange(&shared->system_failed, true))
        log_warning("the system's log does not take messages (%s); some or all are missing there",
                    error == EAGAIN ? "it is not being read" : strerror(error));
}

/* ---- what is said ---- */

/* Completes the line with what all lines say, and writes it. */
static void say(struct log_line line, const char *format, va_list args)
{
    enum log_level level = levels[line.severity];
    bool to_system = settings.to_system && (level <= LOG_LEVEL_INFO || level <= settings.level);
    char message[LOG_LINE_SIZE];
    int error = errno;

    if (level > settings.level && !to_system)
        return;
    vsnprintf(message, sizeof(message), format, args);
    line.lock = thread_lock ? thread_lock : settings.lock;
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

#define LOG_FUNCTION(name, ...)                                                                    \
    void name(const char *format, ...)                                                             \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, format);                                                                    \
        say((struct log_line){__VA_ARGS__}, format, args);                                         \
        va_end(args);                                                                              \
    }

LOG_FUNCTION(log_error, .severity = LOG_SEVERITY_ERROR)
LOG_FUNCTION(log_warning, .severity = LOG_SEVERITY_WARNING)
LOG_FUNCTION(log_notice, .severity = LOG_SEVERITY_NOTICE)
LOG_FUNCTION(log_info, .severity = LOG_SEVERITY_INFO)
LOG_FUNCTION(log_debug, .severity = LOG_SEVERITY_DEBUG)
LOG_FUNCTION(log_library, .severity = LOG_SEVERITY_DEBUG, .source = "zookeeper")

int log_failure(int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say((struct log_line){.severity = LOG_SEVERITY_ERROR}, format, args);
    va_end(args);
    return status;
}

void log_event(enum log_event event, const struct log_field *fields, const char *format, ...)
{
    const struct log_line line = {
        .severity = events[event].severity, .event = events[event].name, .fields = fields};
    va_list args;

    va_start(args, format);
    say(line, format, args);
    va_end(args);
}
