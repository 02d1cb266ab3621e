#include "reentry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "reentry_wire.h"
#include "tree.h"
#include "xalloc.h"

/* Nesting as deep as that, or as many jobs, is refused a socket and queues up. */
#define USERS_MAX 1000

/* One that has connected; it uses a lock from the answer on. */
struct guest {
    struct guest *next;
    int fd;
    bool uses;
    bool asked;   /* and has not been answered yet */
    bool unlocks; /* waits for the lock to be given back */
    enum reentry_answer verdict;
};

struct reentry {
    const struct reentry_lock *locks;
    size_t count;
    const struct servers *servers;
    int listener;
    int epoll;
    char name[REENTRY_NAME_SIZE];
    const char *unlockable; /* NULL: nobody may ask for that */
    struct guest *guests;
    size_t users;
    bool was_used;
};

static void make_name(char name[REENTRY_NAME_SIZE])
{
    unsigned char bytes[12] = {0};

    if (getrandom(bytes, sizeof(bytes), 0) < 0)
        return; /* then bind() finds out whether it is taken */
    for (size_t i = 0; i < sizeof(bytes); i++)
        sprintf(name + 2 * i, "%02x", bytes[i]);
}

static bool watch(const struct reentry *reentry, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};

    return epoll_ctl(reentry->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* The socket of a hold is found by number, the latest first. */
static int listen_for_caller(pid_t caller, char name[REENTRY_NAME_SIZE])
{
    for (unsigned int i = 0; i < REENTRY_HOLDS_MAX; i++) {
        int fd = wire_listen(wire_hold_name(caller, i, name));

        if (fd >= 0 || errno != EADDRINUSE)
            return fd;
    }
    return -1;
}

struct reentry *reentry_offer(const struct reentry_lock *locks, size_t count,
                              const struct servers *servers, pid_t caller)
{
    struct reentry *reentry = xcalloc(1, sizeof(*reentry));

    reentry->locks = locks;
    reentry->count = count;
    reentry->servers = servers;
    if (caller) {
        reentry->listener = listen_for_caller(caller, reentry->name);
    } else {
        make_name(reentry->name);
        reentry->listener = wire_listen(reentry->name);
    }
    reentry->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (reentry->listener < 0 || reentry->epoll < 0 || !watch(reentry, reentry->listener, NULL)) {
        int error = errno;

        reentry_free(reentry);
        errno = error;
        return NULL;
    }
    return reentry;
}

const char *reentry_name(const struct reentry *reentry)
{
    return reentry->name;
}

int reentry_fd(const struct reentry *reentry)
{
    return reentry->epoll;
}

size_t reentry_users(const struct reentry *reentry)
{
    return reentry->users;
}

/* ---- guests ---- */

static void see_off(struct reentry *reentry, struct guest *guest)
{
    struct guest **place = &reentry->guests;

    while (*place != guest)
        place = &(*place)->next;
    *place = guest->next;
    reentry->users -= guest->uses;
    close(guest->fd);
    free(guest);
}

static void welcome(struct reentry *reentry)
{
    int fd = wire_accept(reentry->listener);
    struct guest *guest;

    if (fd < 0)
        return;
    if (reentry->users >= USERS_MAX) {
        close(fd);
        return;
    }
    guest = xcalloc(1, sizeof(*guest));
    guest->fd = fd;
    guest->next = reentry->guests;
    reentry->guests = guest;
    if (!watch(reentry, fd, guest))
        see_off(reentry, guest);
}

/* Exclusive ones may be used as one likes, shared ones shared, permits as permits. */
static enum reentry_answer judge(const struct reentry *reentry, const struct wire_request *request)
{
    for (size_t i = 0; i < reentry->count; i++) {
        const struct reentry_lock *held = &reentry->locks[i];

        if (held->permits != request->lock.permits ||
            !servers_same_place(reentry->servers, held->path, request->addresses, request->path))
            continue;
        if (held->kind == NAMING_READER && request->lock.kind != NAMING_READER)
            return REENTRY_SHARED;
        return REENTRY_ENTERED;
    }
    return REENTRY_UNKNOWN;
}

static void take_unlock(struct reentry *reentry, struct guest *guest, const char *path)
{
    guest->unlocks = reentry->unlockable && strcmp(reentry->unlockable, path) == 0;
    if (guest->unlocks)
        return;
    wire_answer(guest->fd, REENTRY_UNKNOWN, "", 0);
    see_off(reentry, guest);
}

static void listen_to(struct reentry *reentry, struct guest *guest)
{
    struct wire_request request = {0};

    if (guest->uses || guest->asked || guest->unlocks || !wire_read_request(guest->fd, &request)) {
        see_off(reentry, guest); /* it has hung up, or talks too much */
        return;
    }
    if (request.unlock) {
        take_unlock(reentry, guest, request.path);
        return;
    }
    guest->asked = true;
    guest->verdict = judge(reentry, &request);
    guest->uses = guest->verdict == REENTRY_ENTERED && !request.probe;
    reentry->users += guest->uses;
    reentry->was_used |= guest->uses;
}

void reentry_serve(struct reentry *reentry)
{
    struct epoll_event events[16];
    int count = epoll_wait(reentry->epoll, events, 16, 0);

    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr)
            listen_to(reentry, events[i].data.ptr);
        else
            welcome(reentry);
    }
}

void reentry_answer(struct reentry *reentry, const char *node, int64_t token)
{
    for (struct guest *guest = reentry->guests; guest; guest = guest->next) {
        if (!guest->asked)
            continue;
        guest->asked = false;
        wire_answer(guest->fd, guest->verdict, node, token);
    }
}

void reentry_allow_unlock(struct reentry *reentry, const char *path)
{
    reentry->unlockable = path;
}

bool reentry_unlock_wanted(const struct reentry *reentry)
{
    for (const struct guest *guest = reentry->guests; guest; guest = guest->next)
        if (guest->unlocks)
            return true;
    return false;
}

void reentry_unlocked(struct reentry *reentry)
{
    for (const struct guest *guest = reentry->guests; guest; guest = guest->next)
        if (guest->unlocks)
            wire_answer(guest->fd, REENTRY_UNLOCKED, "", 0);
}

bool reentry_was_used(const struct reentry *reentry)
{
    return reentry->was_used;
}

void reentry_free(struct reentry *reentry)
{
    if (!reentry)
        return;
    while (reentry->guests)
        see_off(reentry, reentry->guests);
    if (reentry->listener >= 0)
        close(reentry->listener);
    if (reentry->epoll >= 0)
        close(reentry->epoll);
    free(reentry);
}

char *reentry_held_with(const char *name)
{
    const char *others = getenv(REENTRY_VARIABLE);

    return others && *others ? xasprintf("%s %s", others, name) : xstrdup(name);
}

/* ---- the inner side ---- */

static enum reentry_answer ask_one(const char *name, const struct reentry_lock *lock,
                                   const struct servers *servers, int64_t deadline,
                                   struct reentry_entry *entry)
{
    enum reentry_answer answer = REENTRY_UNKNOWN;
    int fd = wire_connect(name);

    if (fd < 0)
        return answer; /* it has ended */
    if (wire_ask(fd, lock, servers, false))
        answer = wire_read_answer(fd, deadline, &entry->node, &entry->token);
    if (answer == REENTRY_ENTERED)
        entry->fd = fd;
    else
        close(fd);
    return answer;
}

enum reentry_answer reentry_ask(const struct reentry_lock *lock, const struct servers *servers,
                                int64_t deadline, struct reentry_entry *entry)
{
    const char *held = getenv(REENTRY_VARIABLE);
    enum reentry_answer answer = REENTRY_UNKNOWN;

    while (held && *held && answer == REENTRY_UNKNOWN) {
        char name[REENTRY_NAME_SIZE];
        size_t len = strcspn(held, " ");

        if (len > 0 && len < sizeof(name)) {
            snprintf(name, sizeof(name), "%.*s", (int)len, held);
            answer = ask_one(name, lock, servers, deadline, entry);
        }
        held += len + (held[len] == ' ');
    }
    return answer;
}

static bool holds(pid_t caller, const struct reentry_lock *lock, const struct servers *servers,
                  int64_t deadline)
{
    bool held = false;

    for (unsigned int i = wire_count_holds(caller); i > 0 && !held; i--) {
        char name[REENTRY_NAME_SIZE];
        char *node = NULL;
        int64_t token;
        int fd = wire_connect(wire_hold_name(caller, i - 1, name));

        if (fd < 0)
            continue;
        if (wire_ask(fd, lock, servers, true))
            held = wire_read_answer(fd, deadline, &node, &token) != REENTRY_UNKNOWN;
        free(node);
        close(fd);
    }
    return held;
}

pid_t reentry_held_for(const struct reentry_lock *lock, const struct servers *servers,
                       int64_t deadline)
{
    /* A shell may have executed its last command in its own place. */
    for (pid_t pid = getpid(); pid > 0; pid = tree_parent(pid))
        if (holds(pid, lock, servers, deadline))
            return pid;
    return 0;
}
