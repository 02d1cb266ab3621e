/*
 * Who uses the locks, who may, and who may ask for them back.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "nesting/reentry_state.h"
#include "process/tree.h"

/* How many may use the locks, be it nested or side by side. */
#define USERS_MAX 1000

int reentry_open_spare(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static bool uses_lock(const struct guest *guest)
{
    return guest->state == ADMITTED || guest->state == REPORTED || guest->state == GUARDED ||
           guest->state == USING || guest->state == LEFT;
}

size_t reentry_users(const struct reentry *reentry)
{
    size_t users = 0;

    for (const struct guest *guest = reentry->guests; guest; guest = guest->next)
        users += uses_lock(guest);
    return users;
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
 * Returns whether the caller for which it asks is a process of this zkflock, which ends only after
 * the use of its lock, or is around it and so may wait for the command, which would have to wait
 * for the caller.  Under --hold nobody waits for this zkflock.
 */
static bool asks_for_one_outside(const struct reentry *reentry, const struct guest *guest)
{
    pid_t caller = guest->users[USER_CALLER].pid;
    pid_t guard = reentry->terms.holder.pid;

    if (guest->users_len <= USER_CALLER)
        return false;
    if (reentry->terms.kind == REENTRY_CALLER)
        return tree_descends(caller, getpid());
    return tree_descends(getpid(), caller) || caller == guard ||
           (tree_descends(caller, getpid()) && !tree_descends(caller, guard));
}

/*
 * Finds out which process asks, and returns whether it may.  A user of the lock has to be visible
 * from here, so that it can be ended if the lock is lost.  A probe and --unlock find the lock by
 * the number of a process, which in another pid namespace would mean another process.  *outside: of
 * asks_for_one_outside().
 */
static bool may_ask(struct reentry *reentry, struct guest *guest,
                    const struct wire_request *request, bool *outside)
{
    bool may;

    close(reentry->spare);
    may = request->verb == WIRE_ENTER ? identify_users(guest, request->caller)
                                      : wire_is_near(guest->fd);
    *outside = may && request->verb == WIRE_ENTER && asks_for_one_outside(reentry, guest);
    reentry->spare = reentry_open_spare();
    return may;
}

void reentry_decide(struct reentry *reentry, struct guest *guest,
                    const struct wire_request *request)
{
    bool outside;

    guest->state = DENIED;
    guest->verdict = REENTRY_UNKNOWN;
    if (request->verb == WIRE_LEAVE || !may_ask(reentry, guest, request, &outside))
        return;
    if (request->verb == WIRE_UNLOCK) {
        guest->verdict = judge_unlock(reentry, request);
        if (guest->verdict == REENTRY_UNLOCKED)
            guest->state = UNLOCKING;
    } else if (reentry->closed) {
        guest->state = PUT_OFF;
    } else {
        guest->verdict = judge(reentry, request);
        if (guest->verdict == REENTRY_ENTERED && request->caller_lost)
            guest->verdict = REENTRY_FULL;
        if (guest->verdict == REENTRY_ENTERED && outside)
            guest->verdict = REENTRY_OUTSIDE;
        if (guest->verdict == REENTRY_ENTERED && request->verb == WIRE_ENTER)
            guest->state = ADMITTED;
    }
}
