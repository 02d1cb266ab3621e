/*
 * Re-entry: a zkflock inside the command of another one that holds the same lock uses that lock. It
 * does not queue up for it, since it would wait for itself.
 *
 * The keeper of the outer zkflock listens on a socket in the abstract namespace.  The command finds
 * the socket's random name in ZKFLOCK_HELD, behind those of the locks around it.  The inner zkflock
 * connects and asks, and when it was let in, the lock is not released before it hangs up.  Each
 * side talks only to its own user (SO_PEERCRED).
 */
#ifndef ZKFLOCK_REENTRY_H
#define ZKFLOCK_REENTRY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ensemble/servers.h"
#include "lock/lockset.h"
#include "process/process.h"

/* A lock as a zkflock that wants to use it describes it. */
struct reentry_lock {
    const char *path;
    enum naming_kind kind; /* NAMING_PERMIT: of a semaphore at this path */
    int32_t permits;
};

/* ---- the outer side, which the keeper calls ---- */

struct reentry;

/* Which process a lock is held for: the caller of --hold, or the guard above a command. */
enum reentry_holder { REENTRY_CALLER, REENTRY_COMMAND };

/* Which locks are offered, and to which processes. */
struct reentry_terms {
    const struct reentry_lock *locks;
    size_t count;
    const struct servers *servers;
    struct procid holder; /* the process that the locks are held for, see holds.h */
    enum reentry_holder kind;
    bool enterable; /* others may use the locks; else they only learn that waiting is in vain */
};

/*
 * Offers locks that are held.  What the terms point to has to live as long as the offer.  Returns
 * NULL with errno if there can be no socket.
 */
struct reentry *reentry_offer(const struct reentry_terms *terms);

/* Returns the socket's name, for ZKFLOCK_HELD. */
const char *reentry_name(const struct reentry *reentry);

/* Returns a descriptor that is readable when reentry_serve() has something to do. */
int reentry_fd(const struct reentry *reentry);

/*
 * Reads requests and decides on them, without an answer: before reentry_answer() gives it, and a
 * process that is let in starts, the guard takes the new users over.
 */
void reentry_serve(struct reentry *reentry);

/*
 * Fills in a process that the guard has to know before somebody is let in: the zkflock that asks,
 * or the caller for which it asks.  false: there is none, or so many wait for the guard that others
 * have to wait until reentry_guarded().
 */
bool reentry_new_user(struct reentry *reentry, struct procid *user);

/*
 * A process of reentry_new_user() is guarded now; or it cannot be, and who asked is refused.
 * Returns whether somebody still waits for that.
 */
bool reentry_guarded(struct reentry *reentry, const struct procid *user, bool guarded);

/*
 * Fills in a caller of --hold that was a process of reentry_new_user(), and lives on without the
 * lock; false: there is none.
 */
bool reentry_past_user(struct reentry *reentry, struct procid *user);

/*
 * Answers all requests that are decided; tells processes that are let in the node and the token.
 */
void reentry_answer(struct reentry *reentry, const char *node, int64_t token);

/* Lets --unlock ask for the lock of that path back, from now on; before, there is nothing to ask.
 */
void reentry_allow_unlock(struct reentry *reentry, const char *path);

/* The caller has given the lock back, or has ended: neither --unlock nor a probe finds it here. */
void reentry_given_back(struct reentry *reentry);

/* Returns whether an --unlock waits for its answer. */
bool reentry_unlock_wanted(const struct reentry *reentry);

/*
 * Answers --unlock: the lock is released, or will be when it has no users, or, possible being
 * false, could not be.
 */
void reentry_unlocked(struct reentry *reentry, bool possible);

/*
 * Lets nobody in any more: the locks are about to be released.  A zkflock that asks, or that is
 * not guarded yet, gets no answer, and the socket closes when the locks are released.  Requests of
 * --unlock are still answered.
 */
void reentry_close(struct reentry *reentry);

/* Returns whether descriptors ran out: call reentry_serve() again when one may be free. */
bool reentry_crowded(const struct reentry *reentry);

/* Returns how many processes use the locks now. */
size_t reentry_users(const struct reentry *reentry);

/* NULL is allowed. */
void reentry_free(struct reentry *reentry);

/* ---- the inner side ---- */

enum reentry_answer {
    REENTRY_UNKNOWN,  /* no zkflock around holds this lock */
    REENTRY_ENTERED,  /* this process may use it until it closes the descriptor */
    REENTRY_SHARED,   /* it is held shared, but wanted exclusive */
    REENTRY_FULL,     /* there are too many users, or this one cannot be guarded */
    REENTRY_UNLOCKED, /* it is released */
    REENTRY_IN_USE,   /* it will be released when its users have ended */
    REENTRY_STUCK,    /* it could not be released */
    REENTRY_TOGETHER, /* it is held as --with of another lock, whose name releases both */
    REENTRY_OUTSIDE,  /* the process that it is wanted for is around the zkflock that holds it, or
                         one of its processes */
    REENTRY_SILENT,   /* a zkflock around does not answer, and may hold it */
};

struct reentry_entry {
    int fd;
    int64_t token;
    char *node; /* to be freed */
    bool main;  /* set by the keeper: the lock that the command is told of */
};

/*
 * Returns the process around this one that the lock is held for, or all permits of a semaphore are,
 * even if ZKFLOCK_HELD does not name the socket; 0: there is none.  *kind: which kind of process.
 */
pid_t reentry_held_for(const struct reentry_lock *lock, const struct servers *servers,
                       int64_t deadline, enum reentry_holder *kind);

/*
 * Asks the keepers in ZKFLOCK_HELD for the lock.  caller: a pidfd of the caller of --hold, which
 * uses the lock as this process does; -1: there is a command.  Returns REENTRY_SILENT at the
 * deadline, or when wake_fd is readable; one may then ask again.  Fills in *entry with
 * REENTRY_ENTERED.
 */
enum reentry_answer reentry_ask(const struct reentry_lock *lock, const struct servers *servers,
                                int caller, int wake_fd, int64_t deadline,
                                struct reentry_entry *entry);

/* Says on an entry that the caller lives on without the lock, or never had it. */
void reentry_leave(const struct reentry_entry *entry);

#endif
