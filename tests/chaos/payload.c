/*
 * The command that runs under the lock, and the judge of it: it needs nothing of zkflock to see
 * that two holders are there at once.
 *
 *     payload DIR WHO HOLD_MS [VARIANT]...
 *
 * It locks DIR/judge, without waiting, through a descriptor that everything it starts inherits.  A
 * refusal means that another payload, or a process that it left, is alive, and goes to
 * DIR/violations.  Then it adds one to DIR/counter, unguarded: read, sleep, write.
 *
 * DIR/log gets a line before the sleep and one after the write, so that a reader knows exactly
 * which values the counter may have:
 *
 *     begin WHO TOKEN PID BOOTTIME_NS HOLD_MS VALUE_READ write|read SLOT
 *     end WHO TOKEN PID BOOTTIME_NS BEGIN_NS VALUE_WRITTEN
 *
 * Variants of what it runs under:
 *
 *     reader      a shared lock: other readers may be alive.  It reads the counter again instead of
 *                 writing it: a change goes to DIR/violations too
 *     permits=N   one of N permits: N - 1 others may be alive, each with a counter of its own.
 *                 SLOT is its number
 *     careless    --lock-delay 0: it may start beside a payload that lost its lock.  The line in
 *                 DIR/violations is "risked" then, and it leaves the counter alone.  No other
 *                 payload may start beside it
 *     also=DIR    two locks: all of the above in this directory too, where TOKEN is 0
 *
 * Variants that are hard to end, most of them:
 *
 *     alive=FIFO  opens it for writing and never closes it: its reader sees the end of the tree
 *     daemon      leaves a descendant in a session of its own, which holds the judge's descriptor
 *     deaf        ignores TERM, and so does all that it starts
 *     bomb=N      N chains of processes in which each starts the next and exits
 *     stopped     stops itself
 *     nobody      becomes the user nobody when its files are open
 *     hang=PATH   opens PATH after the write, which may never return
 *
 * Linked statically, so that a faked clock does not reach it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NOBODY = 65534, CHAIN_STEP_MS = 4, BROKEN = 99, PLACES = 2 };

/*
 * The bytes of DIR/judge.  An exclusive payload locks all bytes before AT_RISK.  From there on is
 * one byte for each kind of payload that started at its own risk: exclusive, reader, permit.
 */
enum { AT_READERS, AT_PERMITS, AT_SLOTS, AT_RISK = 1000, AT_RISK_END = AT_RISK + 3 };

/* The directory of a lock. */
struct place {
    const char *dir;
    const char *token;
    int slot;
    bool risked; /* started beside one that vanished, on purpose */
    int judge_fd;
    int counter_fd;
    int log_fd;
    int violations_fd;
    int64_t value; /* as read from the counter */
    int64_t begin;
};

struct payload {
    struct place places[PLACES];
    int place_count;
    const char *who;
    const char *hang;
    long hold_ms;
    int permits; /* 0: it is none of a semaphore's */
    int chains;
    bool daemon;
    bool stopped;
    bool nobody;
    bool reader;
    bool careless;
};

static _Noreturn void broken(const char *what)
{
    fprintf(stderr, "payload: %s: %s\n", what, strerror(errno));
    exit(BROKEN);
}

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void sleep_ms(long ms)
{
    struct timespec span = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    while (nanosleep(&span, &span) < 0 && errno == EINTR)
        continue;
}

/* One write(2) to a file that is appended to: lines of several processes do not mix. */
__attribute__((format(printf, 2, 3))) static void append(int fd, const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);

    int len = vsnprintf(line, sizeof(line), format, args);

    va_end(args);
    if (write(fd, line, (size_t)len) != len)
        broken("log");
}

static int64_t read_counter(int fd)
{
    char text[32] = "";
    ssize_t len = pread(fd, text, sizeof(text) - 1, 0);

    if (len < 0)
        broken("counter");
    return strtoll(text, NULL, 10);
}

static void write_counter(int fd, int64_t value)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "%020" PRId64 "\n", value);

    if (pwrite(fd, text, (size_t)len, 0) != len)
        broken("counter");
}

/* ---- what it leaves around ---- */

/* Ended by main() at a regular end; after a kill nothing but zkflock ends it. */
struct followers {
    bool *over; /* shared */
    int alive[2];
};

static void stay(const struct followers *followers)
{
    while (!*(volatile bool *)followers->over)
        sleep_ms(5);
}

static void start_daemon(const struct followers *followers)
{
    pid_t pid = fork();

    if (pid < 0)
        broken("fork");
    if (pid > 0) {
        waitpid(pid, NULL, 0);
        return;
    }
    setsid();
    if (fork() == 0) {
        close(followers->alive[0]);
        stay(followers);
    }
    _exit(0);
}

/* A process of a chain has gone before it can be looked up and killed, but its child is there. */
static void start_chain(const struct followers *followers)
{
    if (fork() != 0)
        return;
    close(followers->alive[0]);
    while (!*(volatile bool *)followers->over) {
        sleep_ms(CHAIN_STEP_MS);
        if (fork() > 0)
            _exit(0);
    }
    _exit(0);
}

static void start_followers(const struct payload *payload, struct followers *followers)
{
    followers->over =
        mmap(NULL, sizeof(bool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (followers->over == MAP_FAILED || pipe(followers->alive) < 0)
        broken("followers");
    if (payload->daemon)
        start_daemon(followers);
    for (int i = 0; i < payload->chains; i++)
        start_chain(followers);
    close(followers->alive[1]);
}

/* What still held the judge's descriptor would be found by the next holder, rightly. */
static void end_followers(const struct followers *followers)
{
    char byte;

    *followers->over = true;
    while (read(followers->alive[0], &byte, 1) > 0)
        continue;
    while (waitpid(-1, NULL, 0) > 0)
        continue;
}

/* ---- the work ---- */

static int open_in(const char *dir, const char *name, int slot, int flags)
{
    char path[512];
    char suffix[16] = "";
    int fd;

    if (slot > 0)
        snprintf(suffix, sizeof(suffix), ".%d", slot);
    snprintf(path, sizeof(path), "%s/%s%s", dir, name, suffix);
    fd = open(path, flags | O_CREAT, 0666);
    if (fd < 0)
        broken(path);
    return fd;
}

/*
 * Locks (F_RDLCK, F_WRLCK) or unlocks (F_UNLCK) bytes of the judge's file; the lock stays until the
 * last process that inherits the descriptor has ended.  Returns false if another one's lock forbids
 * it.
 */
static bool take(int fd, short type, off_t start, off_t len)
{
    struct flock range = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len, .l_pid = 0};

    if (fcntl(fd, F_OFD_SETLK, &range) == 0)
        return true;
    if (errno != EAGAIN && errno != EACCES)
        broken("judge");
    return false;
}

/* Returns true if another payload has locked this byte.  Locks nothing, so refuses nobody. */
static bool is_taken(int fd, off_t at)
{
    struct flock range = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1, .l_pid = 0};

    if (fcntl(fd, F_OFD_GETLK, &range) < 0)
        broken("judge");
    return range.l_type != F_UNLCK;
}

/* Locks first, then looks: of two that start at the same time, one sees the other. */
static bool may_run(const struct payload *payload, struct place *place)
{
    int fd = place->judge_fd;

    if (payload->reader)
        return take(fd, F_RDLCK, AT_READERS, 1) && !is_taken(fd, AT_PERMITS);
    if (!payload->permits)
        return take(fd, F_WRLCK, 0, AT_RISK);
    if (!take(fd, F_RDLCK, AT_PERMITS, 1) || is_taken(fd, AT_READERS))
        return false;
    for (place->slot = 0; place->slot < payload->permits; place->slot++)
        if (take(fd, F_WRLCK, AT_SLOTS + place->slot, 1))
            return true;
    place->slot = 0;
    return false;
}

/* Returns true if a payload runs at its own risk that this kind may not share the lock with. */
static bool meets_careless(const struct place *place, off_t own)
{
    for (off_t at = AT_RISK; at < AT_RISK_END; at++)
        if ((at == AT_RISK || at != own) && is_taken(place->judge_fd, at))
            return true;
    return false;
}

static void judge(const struct payload *payload, struct place *place)
{
    off_t own = AT_RISK + (payload->permits ? 2 : payload->reader);

    if (payload->careless)
        take(place->judge_fd, F_RDLCK, own, 1);

    bool alone = may_run(payload, place) && !meets_careless(place, own);

    place->risked = payload->careless && !alone;
    if (payload->careless && alone)
        take(place->judge_fd, F_UNLCK, own, 1);
    if (!alone)
        append(place->violations_fd, "%s %s %s %d %" PRId64 "\n",
               place->risked ? "risked" : "overlap", payload->who, place->token, (int)getpid(),
               now());
}

static void enter(const struct payload *payload, struct place *place)
{
    place->log_fd = open_in(place->dir, "log", 0, O_WRONLY | O_APPEND);
    place->violations_fd = open_in(place->dir, "violations", 0, O_WRONLY | O_APPEND);
    place->judge_fd = open_in(place->dir, "judge", 0, O_RDWR);
    judge(payload, place);
    place->counter_fd = open_in(place->dir, "counter", place->slot, O_RDWR);
}

static void begin(const struct payload *payload, struct place *place)
{
    place->value = read_counter(place->counter_fd);
    place->begin = now();
    append(place->log_fd, "begin %s %s %d %" PRId64 " %ld %" PRId64 " %s %d\n", payload->who,
           place->token, (int)getpid(), place->begin, payload->hold_ms, place->value,
           payload->reader || place->risked ? "read" : "write", place->slot);
}

static void read_again(const struct payload *payload, const struct place *place)
{
    int64_t value = read_counter(place->counter_fd);

    if (value != place->value)
        append(place->violations_fd,
               "changed %s %s %d %" PRId64 " from %" PRId64 " to %" PRId64 "\n", payload->who,
               place->token, (int)getpid(), now(), place->value, value);
}

static void end(const struct payload *payload, struct place *place)
{
    if (payload->reader && !place->risked)
        read_again(payload, place);
    else if (!place->risked)
        write_counter(place->counter_fd, ++place->value);
    append(place->log_fd, "end %s %s %d %" PRId64 " %" PRId64 " %" PRId64 "\n", payload->who,
           place->token, (int)getpid(), now(), place->begin, place->value);
}

static void work(struct payload *payload)
{
    for (int i = 0; i < payload->place_count; i++)
        begin(payload, &payload->places[i]);
    if (payload->stopped)
        raise(SIGSTOP);
    if (payload->hang)
        close(open(payload->hang, O_RDONLY));
    sleep_ms(payload->hold_ms);
    for (int i = 0; i < payload->place_count; i++)
        end(payload, &payload->places[i]);
}

static void add_place(struct payload *payload, const char *dir, const char *token)
{
    if (payload->place_count == PLACES) {
        errno = E2BIG;
        broken(dir);
    }
    payload->places[payload->place_count++] = (struct place){.dir = dir, .token = token};
}

static void take_variant(struct payload *payload, const char *text)
{
    if (strncmp(text, "alive=", 6) == 0) {
        if (open(text + 6, O_WRONLY | O_NONBLOCK) < 0)
            broken(text);
    } else if (strncmp(text, "bomb=", 5) == 0) {
        payload->chains = (int)strtol(text + 5, NULL, 10);
    } else if (strncmp(text, "permits=", 8) == 0) {
        payload->permits = (int)strtol(text + 8, NULL, 10);
    } else if (strncmp(text, "also=", 5) == 0) {
        add_place(payload, text + 5, "0");
    } else if (strncmp(text, "hang=", 5) == 0) {
        payload->hang = text + 5;
    } else if (strcmp(text, "daemon") == 0) {
        payload->daemon = true;
    } else if (strcmp(text, "deaf") == 0) {
        signal(SIGTERM, SIG_IGN);
    } else if (strcmp(text, "reader") == 0) {
        payload->reader = true;
    } else if (strcmp(text, "careless") == 0) {
        payload->careless = true;
    } else if (strcmp(text, "stopped") == 0) {
        payload->stopped = true;
    } else if (strcmp(text, "nobody") == 0) {
        payload->nobody = true;
    } else {
        errno = EINVAL;
        broken(text);
    }
}

int main(int argc, char **argv)
{
    struct payload payload = {0};
    struct followers followers;
    const char *token = getenv("ZKFLOCK_TOKEN");

    if (argc < 4) {
        fprintf(stderr, "Usage: payload DIR WHO HOLD_MS [VARIANT]...\n");
        return BROKEN;
    }
    add_place(&payload, argv[1], token && *token ? token : "0");
    payload.who = argv[2];
    payload.hold_ms = strtol(argv[3], NULL, 10);
    for (int i = 4; i < argc; i++)
        take_variant(&payload, argv[i]);
    for (int i = 0; i < payload.place_count; i++)
        enter(&payload, &payload.places[i]);
    if (payload.nobody && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
        broken("setuid");
    start_followers(&payload, &followers);
    work(&payload);
    end_followers(&followers);
    return 0;
}
