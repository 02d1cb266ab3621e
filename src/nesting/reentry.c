#include "nesting/reentry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "nesting/holds.h"
#include "nesting/reentry_wire.h"
#include "process/tree.h"

/* How many may use the locks, be it nested or side by side. */
#define USERS_MAX 1000

/* How many the guard may have to answer for at a time: their messages must not fill its link. */
#define REPORTED_MAX 32

/* The zkflock that asks, and the caller of --hold for which it asks. */
enum { USER_PEER, USER_CALLER, USERS_OF_GUEST };

/* How many connections to accept in a turn: they may come faster than they can be served. */
#define WELCOMES_A_TURN 16

/*
 * A guest's states.  A guest that says anything in another state than SILENT is hung up on.
 *
 *   SILENT    -> ADMITTED   it asks to use a lock, and may                [listen_to]
 *             -> DENIED     it may not, or only wants to know
 *             -> PUT_OFF    it asks after reentry_close(): it gets no answer
 *             -> UNLOCKING  it asks for the lock to be given back, and may
 *   ADMITTED  -> REPORTED   the guard is told of its next user            [reentry_new_user]
 *   REPORTED  -> ADMITTED   the guard has taken that one over, and there is one more
 *                                                                         [reentry_guarded]
 *             -> GUARDED    the guard has taken all of them over
 *             -> DENIED     it cannot be guarded
 *             -> PUT_OFF    the locks are about to be released            [reentry_close]
 *   GUARDED   -> USING      it is answered, and starts                    [reentry_answer]
 *   DENIED    -> SILENT     it is answered                                [reentry_answer]
 *   UNLOCKING -> SILENT     it is answered                                [reentry_unlocked]
 */
enum guest_state { SILENT, ADMITTED, REPORTED, GUARDED, USING, DENIED, PUT_OFF, UNLOCKING };

struct guest {
    struct guest *next;
    int fd;
    enum guest_state state;
    struct procid users[USERS_OF_GUEST]; /* once it has asked: itself, and the caller */
    size_t users_len;
    size_t reported;             /* how many of these the guard was told of */
    enum reentry_answer verdict; /* ADMITTED to GUARDED, DENIED: the answer that is due */
};

struct reentry {
    struct reentry_terms terms;
    int listener;
    int epoll;
    int spare; /* a descriptor to read /proc with when no other is left */
    char name[AROUND_NAME_SIZE];
    const char *unlockable; /* the lock that --unlock may ask for; NULL: none */
    bool given_back;        /* by the caller of --hold */
    bool closed;
    bool crowded; /* descriptors ran out, and somebody may wait to be accepted */
    struct guest *guests;
    size_t reported;     /* processes that the guard was told of, and has not answered for */
    struct procid *past; /* callers of guests that are gone */
    size_t past_len;
};

static int open_spare(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Adds a descriptor to the epoll; guest is NULL for the listener. */
static bool watch(const struct reentry *reentry, int fd, struct guest *guest)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = guest};

    return epoll_ctl(reentry->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

struct reentry *reentry_offer(const struct reentry_terms *terms)
{
    struct reentry *reentry = xcalloc(1, sizeof(*reentry));

    reentry->terms = *terms;
    reentry->listener = holds_listen(terms->kind, &terms->holder, reentry->name);
    reentry->epoll = epoll_create1(EPOLL_CLOEXEC);
    reentry->spare = open_spare();
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

bool reentry_crowded(const struct reentry *reentry)
{
    return reentry->crowded;
}

static bool uses_lock(const struct guest *guest)
{
    return guest->state == ADMITTED || guest->state == REPORTED || guest->state == GUARDED ||
           guest->state == USING;
}

size_t reentry_users(const struct reentry *reentry)
{
    size_t users = 0;

    for (const struct guest *guest = reentry->guests; guest; guest = guest->next)
        users += uses_lock(guest);
    return users;
}

/* ---- guests ---- */

static void see_off(struct reentry *reentry, struct guest *guest)
{
    struct guest **place = &reentry->guests;

    while (*place != guest)
        place = &(*place)->next;
    *place = guest->next;
    if ((guest->state == GUARDED || guest->state == USING) && guest->users_len > USER_CALLER) {
        reentry->past =
            xreallocarray(reentry->past, reentry->past_len + 1, sizeof(reentry->past[0]));
        reentry->past[reentry->past_len++] = guest->users[USER_CALLER];
    }
    close(guest->fd);
    free(guest);
}

static void welcome(struct reentry *reentry, int fd)
{
    struct guest *guest = xcalloc(1, sizeof(*guest));

    *guest = (struct guest){.next = reentry->guests, .fd = fd, .state = SILENT};
    reentry->guests = guest;
    if (!watch(reentry, fd, guest))
        see_off(reentry, guest);
}

/* Without a free descriptor the listener stays readable, so the epoll must not watch it. */
static void set_crowded(struct reentry *reentry, bool crowded)
{
    struct epoll_event event = {.events = crowded ? 0 : EPOLLIN};

    if (crowded != reentry->crowded)
        epoll_ctl(reentry->epoll, EPOLL_CTL_MOD, reentry->listener, &event);
    reentry->crowded = crowded;
}

static void welcome_some(struct reentry *reentry)
{
    for (int i = 0; i < WELCOMES_A_TURN; i++) {
        int fd = accept4(reentry->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0 && wire_is_own(fd)) {
            welcome(reentry, fd);
        } else if (fd >= 0) {
            /* Another user is not let in, but may be about to wait for a lock that is held here. */
            wire_tell(fd, reentry->terms.locks, reentry->terms.count, reentry->terms.servers);
            close(fd);
        } else if (errno != ECONNABORTED) {
            set_crowded(reentry, errno != EAGAIN);
            return;
        }
    }
    set_crowded(reentry, false);
}

/*
 * Decides on a request to use a lock: an exclusive lock may be used exclusive or shared, a shared
 * one shared, permits as permits.
 */
static enum reentry_answer judge(const struct reentry *reentry, const struct wire_request *request)
{
    /* The lock comes free: waiting for it is not in vain. */
    if (request->verb == WIRE_PROBE && reentry->given_back)
        return REENTRY_UNKNOWN;
    for (size_t i = 0; i < reentry->terms.count; i++) {
        const struct reentry_lock *held = &reentry->terms.locks[i];

        if (held->permits != request->lock.permits ||
            !servers_same_place(reentry->terms.servers, held->path, request->addresses,
                                request->path))
            continue;
        if (held->kind == NAMING_READER && request->lock.kind != NAMING_READER)
            return REENTRY_SHARED;
        if (request->verb == WIRE_PROBE)
            return REENTRY_ENTERED;
        if (!reentry->terms.enterable)
            return REENTRY_UNKNOWN;
        return reentry_users(reentry) < USERS_MAX ? REENTRY_ENTERED : REENTRY_FULL;
    }
    return REENTRY_UNKNOWN;
}

/* Decides on --unlock. */
static enum reentry_answer judge_unlock(const struct reentry *reentry,
                                        const struct wire_request *request)
{
    bool same_servers = !*request->addresses ||
                        strcmp(request->addresses, servers_text(reentry->terms.servers)) == 0;

    if (!reentry->unlockable || !same_servers)
        return REENTRY_UNKNOWN;
    if (strcmp(reentry->unlockable, request->path) == 0)
        return REENTRY_UNLOCKED;
    for (size_t i = 0; i < reentry->terms.count; i++)
        if (strcmp(reentry->terms.locks[i].path, request->path) == 0)
            return REENTRY_TOGETHER;
    return REENTRY_UNKNOWN;
}

/* Returns false if one cannot be found that way. */
static bool identify_users(struct guest *guest, int caller)
{
    guest->reported = 0;
    guest->users_len = caller >= 0 ? USERS_OF_GUEST : USERS_OF_GUEST - 1;
    return wire_peer(guest->fd, &guest->users[USER_PEER]) &&
           (caller < 0 || procid_of_pidfd(caller, &guest->users[USER_CALLER]));
}

/*
 * Finds out which process asks, and returns whether it may.  A user of the lock has to be visible
 * from here, so that it can be ended if the lock is lost.  A probe and --unlock find the lock by
 * the number of a process, which in another pid namespace would mean another process.
 */
static bool may_ask(struct reentry *reentry, struct guest *guest,
                    const struct wire_request *request)
{
    bool may;

    close(reentry->spare);
    may = request->verb == WIRE_ENTER ? identify_users(guest, request->caller)
                                      : wire_is_near(guest->fd);
    reentry->spare = open_spare();
    return may;
}

/*
 * Returns whether the caller for which it asks is around this keeper, and so waits for the command,
 * which would have to wait for the caller.
 */
static bool asks_for_one_outside(const struct reentry *reentry, const struct guest *guest)
{
    return reentry->terms.kind == REENTRY_COMMAND && guest->users_len > USER_CALLER &&
           tree_descends(getpid(), guest->users[USER_CALLER].pid);
}

/* Sets the guest's state, and the verdict, by its request. */
static void decide(struct reentry *reentry, struct guest *guest, const struct wire_request *request)
{
    guest->state = DENIED;
    guest->verdict = REENTRY_UNKNOWN;
    if (!may_ask(reentry, guest, request))
        return;
    if (request->verb == WIRE_UNLOCK) {
        guest->verdict = judge_unlock(reentry, request);
        if (guest->verdict == REENTRY_UNLOCKED)
            guest->state = UNLOCKING;
    } else if (reentry->closed) {
        guest->state = PUT_OFF;
    } else {
        guest->verdict = judge(reentry, request);
        if (guest->verdict == REENTRY_ENTERED && asks_for_one_outside(reentry, guest))
            guest->verdict = REENTRY_OUTSIDE;
        if (guest->verdict == REENTRY_ENTERED && request->verb == WIRE_ENTER)
            guest->state = ADMITTED;
    }
}

static void listen_to(struct reentry *reentry, struct guest *guest)
{
    struct wire_request request;
    bool heard = wire_read_request(guest->fd, &request);

    if (heard && guest->state == SILENT)
        decide(reentry, guest, &request);
    else
        see_off(reentry, guest); /* it has hung up, or spoken out of turn */
    if (request.caller >= 0)
        close(request.caller);
}

/* Returns whether somebody may have connected. */
static bool take_turn(struct reentry *reentry)
{
    struct epoll_event events[16];
    int count = epoll_wait(reentry->epoll, events, 16, 0);
    bool knocked = reentry->crowded;

    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr)
            listen_to(reentry, events[i].data.ptr);
        else
            knocked = true;
    }
    if (knocked)
        welcome_some(reentry);
    return knocked;
}

void reentry_serve(struct reentry *reentry)
{
    /* One that has just connected may have asked, and the run may end before the next call. */
    if (take_turn(reentry))
        take_turn(reentry);
}

void reentry_answer(struct reentry *reentry, const char *node, int64_t token)
{
    for (struct guest *guest = reentry->guests; guest; guest = guest->next) {
        if (guest->state != GUARDED && guest->state != DENIED)
            continue;
        guest->state = guest->state == GUARDED ? USING : SILENT;
        wire_answer(guest->fd, guest->verdict, node, token);
    }
}

void reentry_close(struct reentry *reentry)
{
    reentry->closed = true;
    for (struct guest *guest = reentry->guests; guest; guest = guest->next)
        if (guest->state == ADMITTED || guest->state == REPORTED)
            guest->state = PUT_OFF;
}

void reentry_allow_unlock(struct reentry *reentry, const char *path)
{
    reentry->unlockable = path;
}

void reentry_given_back(struct reentry *reentry)
{
    reentry->unlockable = NULL;
    reentry->given_back = true;
}

bool reentry_unlock_wanted(const struct reentry *reentry)
{
    for (const struct guest *guest = reentry->guests; guest; guest = guest->next)
        if (guest->state == UNLOCKING)
            return true;
    return false;
}

void reentry_unlocked(struct reentry *reentry, bool possible)
{
    enum reentry_answer answer = !possible                    ? REENTRY_STUCK
                                 : reentry_users(reentry) > 0 ? REENTRY_IN_USE
                                                              : REENTRY_UNLOCKED;

    for (struct guest *guest = reentry->guests; guest; guest = guest->next) {
        if (guest->state != UNLOCKING)
            continue;
        guest->state = SILENT;
        wire_answer(guest->fd, answer, "", 0);
    }
}

bool reentry_new_user(struct reentry *reentry, struct procid *user)
{
    if (reentry->reported >= REPORTED_MAX)
        return false;
    for (struct guest *guest = reentry->guests; guest; guest = guest->next) {
        if (guest->state == ADMITTED) {
            guest->state = REPORTED;
            reentry->reported++;
            *user = guest->users[guest->reported++];
            return true;
        }
    }
    return false;
}

/* Returns whether the guest waits for the guard's word on that process. */
static bool awaits(const struct guest *guest, const struct procid *user)
{
    const struct procid *last = &guest->users[guest->reported ? guest->reported - 1 : 0];

    return guest->state == REPORTED && last->pid == user->pid && last->started == user->started;
}

bool reentry_guarded(struct reentry *reentry, const struct procid *user, bool guarded)
{
    struct guest *guest = reentry->guests;

    reentry->reported--;
    while (guest && !awaits(guest, user))
        guest = guest->next;
    if (!guest)
        return false;
    if (!guarded) {
        guest->state = DENIED;
        guest->verdict = REENTRY_FULL;
    } else {
        guest->state = guest->reported < guest->users_len ? ADMITTED : GUARDED;
    }
    return true;
}

bool reentry_past_user(struct reentry *reentry, struct procid *user)
{
    if (reentry->past_len == 0)
        return false;
    *user = reentry->past[--reentry->past_len];
    return true;
}

void reentry_free(struct reentry *reentry)
{
    if (!reentry)
        return;
    while (reentry->guests) {
        /* Under --on-lost warn they go on: their guards must not think that this one has died. */
        if (reentry->guests->state == USING)
            wire_answer(reentry->guests->fd, REENTRY_UNKNOWN, "", 0);
        see_off(reentry, reentry->guests);
    }
    free(reentry->past);
    if (reentry->listener >= 0)
        close(reentry->listener);
    if (reentry->epoll >= 0)
        close(reentry->epoll);
    close(reentry->spare);
    free(reentry);
}
