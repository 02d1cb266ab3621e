#include "nesting/reentry_state.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "nesting/holds.h"
#include "nesting/reentry_wire.h"

/* How many the guard may have to answer for at a time: their messages must not fill its link. */
#define REPORTED_MAX 32

/* Adds a descriptor to the epoll; guest is NULL for the listener. */
static bool watch(const struct reentry *reentry, int fd, struct guest *guest)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = guest};

    return epoll_ctl(reentry->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

/*
 * Closes it, out of the epoll: closing alone would not take it out while another process has it
 * open, too, as the sender of a pidfd has, and a child of wire_close_foreign().
 */
static void unwatch(const struct reentry *reentry, int fd)
{
    epoll_ctl(reentry->epoll, EPOLL_CTL_DEL, fd, NULL);
    close(fd);
}

struct reentry *reentry_offer(const struct reentry_terms *terms)
{
    struct reentry *reentry = xcalloc(1, sizeof(*reentry));

    reentry->terms = *terms;
    reentry->listener = holds_listen(terms->kind, &terms->holder, reentry->name);
    reentry->epoll = epoll_create1(EPOLL_CLOEXEC);
    reentry->spare = reentry_open_spare();
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

/* ---- guests ---- */

static void forget_caller(struct guest *guest)
{
    if (guest->caller >= 0)
        close(guest->caller);
    guest->caller = -1;
}

static void see_off(struct reentry *reentry, struct guest *guest)
{
    struct guest **place = &reentry->guests;

    while (*place != guest)
        place = &(*place)->next;
    *place = guest->next;
    unwatch(reentry, guest->fd);
    forget_caller(guest);
    free(guest);
}

/*
 * Sees off one that has hung up, or spoken out of turn; unless it was killed, and perhaps its guard
 * with it, and left its caller behind: then that one uses the lock until it ends.
 */
static void hang_up(struct reentry *reentry, struct guest *guest)
{
    if (guest->state != USING || guest->caller < 0) {
        see_off(reentry, guest);
        return;
    }
    unwatch(reentry, guest->fd);
    guest->fd = guest->caller;
    guest->caller = -1;
    guest->state = LEFT;
    /* If that fails it uses the lock for ever: better than another holder beside it. */
    watch(reentry, guest->fd, guest);
}

static void take_caller_back(struct reentry *reentry, struct guest *guest)
{
    reentry->past = xreallocarray(reentry->past, reentry->past_len + 1, sizeof(reentry->past[0]));
    reentry->past[reentry->past_len++] = guest->users[USER_CALLER];
    forget_caller(guest);
}

static void welcome(struct reentry *reentry, int fd)
{
    struct guest *guest = xcalloc(1, sizeof(*guest));

    *guest = (struct guest){.next = reentry->guests, .fd = fd, .state = SILENT, .caller = -1};
    reentry->guests = guest;
    if (!watch(reentry, fd, guest))
        see_off(reentry, guest);
}

/*
 * Without a free descriptor, and while others' connections cannot be closed, nobody is let in: the
 * listener stays readable, so the epoll must not watch it.
 */
static void set_crowded(struct reentry *reentry, bool crowded)
{
    struct epoll_event event = {.events = crowded ? 0 : EPOLLIN};

    if (crowded != reentry->crowded)
        epoll_ctl(reentry->epoll, EPOLL_CTL_MOD, reentry->listener, &event);
    reentry->crowded = crowded;
}

/* Returns whether none is left. */
static bool close_foreign(struct reentry *reentry)
{
    if (wire_close_foreign(reentry->foreign, reentry->foreign_len))
        reentry->foreign_len = 0;
    return reentry->foreign_len == 0;
}

static void welcome_some(struct reentry *reentry)
{
    bool crowded = !close_foreign(reentry);

    for (int i = 0; i < WELCOMES_A_TURN && !crowded; i++) {
        int fd = accept4(reentry->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0 && wire_is_own(fd)) {
            welcome(reentry, fd);
        } else if (fd >= 0) {
            /* Another user is not let in, but may be about to wait for a lock that is held here. */
            wire_tell(fd, reentry->terms.locks, reentry->terms.count, reentry->terms.servers);
            reentry->foreign[reentry->foreign_len++] = fd;
        } else if (errno != ECONNABORTED) {
            crowded = errno != EAGAIN;
            break;
        }
    }
    set_crowded(reentry, !close_foreign(reentry) || crowded);
}

static void listen_to(struct reentry *reentry, struct guest *guest)
{
    struct wire_request request = {0};
    bool heard;

    if (guest->state == LEFT) {
        see_off(reentry, guest); /* the caller has ended */
        return;
    }
    heard = wire_read_request(guest->fd, &request);
    if (heard && guest->state == SILENT) {
        reentry_decide(reentry, guest, &request);
        forget_caller(guest);
        guest->caller = request.caller;
        return;
    }
    if (request.caller >= 0)
        close(request.caller);
    if (!heard || guest->state != USING || request.verb != WIRE_LEAVE)
        hang_up(reentry, guest);
    else if (guest->caller >= 0)
        take_caller_back(reentry, guest);
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

    return guest->state == REPORTED && procid_equal(last, user);
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

/*
 * Hangs up on those that have not been accepted: others may have sent something along, for which
 * closing the listener would wait.  Returns whether nobody is there any more, nor can come.
 */
static bool turn_away(struct reentry *reentry)
{
    int fd;

    shutdown(reentry->listener, SHUT_RDWR); /* what waits is still accepted */
    while (close_foreign(reentry) &&
           (fd = accept4(reentry->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (wire_is_own(fd))
            close(fd);
        else
            reentry->foreign[reentry->foreign_len++] = fd;
    }
    return reentry->foreign_len == 0 && (errno == EAGAIN || errno == EINVAL);
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
    /* What cannot be closed stays open: the process is about to end. */
    if (reentry->listener >= 0 && turn_away(reentry))
        close(reentry->listener);
    if (reentry->epoll >= 0)
        close(reentry->epoll);
    close(reentry->spare);
    free(reentry);
}
