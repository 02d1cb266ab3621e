/*
 * Re-entry: a zkflock inside the command of another one that holds the same lock does not queue up
 * behind it, which would be waiting for itself, but uses its lock.
 *
 * The outer one listens on a socket in the abstract namespace, whose random name the command finds
 * in ZKFLOCK_HELD, behind those of the locks around it.  The inner one connects and asks; the lock
 * is not given back before it hangs up.  Either side talks to its own user alone (SO_PEERCRED).
 */
#ifndef ZKFLOCK_REENTRY_H
#define ZKFLOCK_REENTRY_H

#include <stdint.h>
#include <sys/types.h>

#include "ensemble/servers.h"
#include "lock/lockset.h"
#include "process/procid.h"

/* A lock as one that wants to use it describes it. */
struct reentry_lock {
    const char *path;
    enum naming_kind kind; /* NAMING_PERMIT: of a semaphore at this path */
    int32_t permits;
};

/* ---- the outer side ---- */

struct reentry;

/* Whom locks are held for: a caller of --hold, or a command, by the guard above it. */
enum reentry_holder { REENTRY_CALLER, REENTRY_COMMAND };

/* What is offered, and to whom. */
struct reentry_terms {
    const struct reentry_lock *locks;
    size_t count;
    const struct servers *servers;
    struct procid holder; /* the socket can be found by this one, too: see holds.h */
    enum reentry_holder kind;
    bool closed; /* nobody is let in; it is only told of to those who would wait in vain */
};

/*
 * Offers locks, which are held, to whoever asks.  What the terms point to has to live as long.
 * NULL with errno if there can be no socket.
 */
struct reentry *reentry_offer(const struct reentry_terms *terms);

const char *reentry_name(const struct reentry *reentry);

/* Readable when reentry_serve() has something to do. */
int reentry_fd(const struct reentry *reentry);

/*
 * Lets in or turns away those who ask, without an answer yet: reentry_answer() gives it, which is
 * when they start.
 */
void reentry_serve(struct reentry *reentry);

/* Somebody could not be let in for want of a descriptor: to be served again when there may be one.
 */
bool reentry_crowded(const struct reentry *reentry);

/* node and token are what those who were let in are told. */
void reentry_answer(struct reentry *reentry, const char *node, int64_t token);

/*
 * Lets others ask for this lock to be given back, NULL: no longer, as nobody need; whether somebody
 * has; and tells them that it is done, or will be when nobody uses it any more, or that it was not
 * possible.
 */
void reentry_allow_unlock(struct reentry *reentry, const char *path);
bool reentry_unlock_wanted(const struct reentry *reentry);
void reentry_unlocked(struct reentry *reentry, bool possible);

/*
 * Nobody is let in any more: the locks are about to be given back.  Who asks is not answered, and
 * sees the socket close when they are.  Those who want that still get their answer.
 */
void reentry_close(struct reentry *reentry);

/* Returns a process that was let in and has no answer yet, each once; false: no more. */
bool reentry_new_user(struct reentry *reentry, struct procid *user);

/* That one could not be guarded, and is not let in. */
void reentry_refuse(struct reentry *reentry, const struct procid *user);

/* How many use the locks now. */
size_t reentry_users(const struct reentry *reentry);

/* NULL is allowed. */
void reentry_free(struct reentry *reentry);

/* ---- the inner side ---- */

enum reentry_answer {
    REENTRY_UNKNOWN, /* nobody around holds this lock */
    REENTRY_ENTERED, /* it may be used until the descriptor is closed */
    REENTRY_SHARED,  /* it is held shared, and wanted for oneself */
    REENTRY_FULL,    /* as many use it as can */
    REENTRY_UNLOCKED,
    REENTRY_IN_USE,   /* given back when those who use it have ended */
    REENTRY_STUCK,    /* could not be given back */
    REENTRY_TOGETHER, /* held with another one, and given back by the name of that */
    REENTRY_SILENT,   /* one around does not answer, and may hold it */
};

struct reentry_entry {
    int fd;
    int64_t token;
    char *node; /* to be freed */
    bool main;  /* for the user: the lock that the command is told of */
};

/*
 * The process around this one that the lock is held for, be it that ZKFLOCK_HELD does not tell of
 * it; of a semaphore, all permits.  0: there is none.  *kind: what it is.
 */
pid_t reentry_held_for(const struct reentry_lock *lock, const struct servers *servers,
                       int64_t deadline, enum reentry_holder *kind);

/*
 * Asks those in ZKFLOCK_HELD, until the deadline, or until wake_fd is readable: REENTRY_SILENT
 * then, and to be asked again.
 */
enum reentry_answer reentry_ask(const struct reentry_lock *lock, const struct servers *servers,
                                int wake_fd, int64_t deadline, struct reentry_entry *entry);

#endif
