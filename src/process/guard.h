/*
 * The guard: the second process, which starts the command and sees to it that nothing of it
 * outlives the lease.  This header is the keeper's side and what the two say to each other.
 *
 *     guard_start()       before the first thread, so that it has clean descriptors and one thread
 *     guard_share()       before it: the guard keeps this descriptor open, too, until it ends
 *     guard_go()          when the lock is held
 *     guard_extend()      after every proof of life; answered by EXTENDED
 *     guard_next()        when guard_fd() is readable: what the guard has to say
 *     guard_ask()         somebody wants the lock: a signal asks for an end, and nothing follows
 *     guard_keep()        another uses the lock, and may when the command has ended: guard it too
 *     guard_unused()      nobody uses the lock any more; what the command left behind may live on
 *     guard_release()     the caller that the lock was held for does without it; GUARD_EXITED
 *                         follows
 *     guard_kill()        the lock is lost: end the command; GUARD_EMPTY follows
 *     guard_dismiss()     the lock is given back: the guard leaves, and kills nothing
 *
 * The guard acts on its own: when the lease ends without an extension, when the command's time is
 * up, and when the keeper dies (the link closes), it ends the command and all its descendants; a
 * dead keeper's place in the queue it then gives back.  When the guard dies, its descendants become
 * the keeper's; a guard that is stopped shows in missing answers.
 */
#ifndef ZKFLOCK_GUARD_H
#define ZKFLOCK_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/lease.h"
#include "process/around.h"
#include "process/command.h"
#include "process/legacy.h"
#include "process/procid.h"

/* What the guard is told when it is forked.  All of it has to live as long as the keeper. */
struct guard_mandate {
    const struct command *command;
    const char *lock_path;
    struct servers *servers; /* not resolved yet */
    struct legacy *legacy;
    int signal; /* the first one, when the lock is lost */
    enum lease_on_lost on_lost;
    pid_t caller;    /* the lock is held for that process, and there is no command; 0 */
    int caller_fd;   /* a pidfd of it; -1 */
    bool whole_tree; /* it has ended when nothing that the command started is left */
};

/* From the keeper. */
enum guard_order {
    GUARD_SHARE, /* with a descriptor */
    GUARD_GO,
    GUARD_EXTEND,
    GUARD_SIGNAL,
    GUARD_SIGNAL_OUTSIDE, /* the same, unless the command is in the caller's process group */
    GUARD_ASK,
    GUARD_KEEP, /* number, started: who was let in */
    GUARD_UNUSED,
    GUARD_RELEASE,
    GUARD_KILL, /* number: not 0 if also where --on-lost would not */
    GUARD_DISMISS,
};

/* From the guard. */
enum guard_report {
    GUARD_FORKED,      /* number: the command's pid; nothing is executed before this is told */
    GUARD_STARTED,     /* the command is executed, and in the caller's process group */
    GUARD_NOT_STARTED, /* number: errno */
    GUARD_STOPPED,     /* number: the signal that stopped the command */
    GUARD_EXITED,      /* number: the command's wait status; its descendants may live */
    GUARD_EXTENDED,    /* lease_end: the end that the guard keeps now */
    GUARD_LEASE_OVER,  /* the lease ended without an extension; what --on-lost says is done */
    GUARD_LIMIT_OVER,  /* the command's time is up, and it is being ended; GUARD_EMPTY follows */
    GUARD_REFUSED,     /* GO came when the lease was as good as over, or, number not 0, after
                          late_at: nothing was started */
    GUARD_CHILDLESS,   /* where the whole tree counts: nothing that the command started is left */
    GUARD_SIGNALLED,   /* what is to end has got the first signal; GUARD_EMPTY follows */
    GUARD_EMPTY,       /* after an end: nothing is left, since when; number: KILL had to be used */
};

/* Room for a znode's path and its end. */
#define GUARD_NODE_SIZE 1280

struct guard_message {
    int32_t type;
    int32_t number;
    int64_t lease_end;           /* GO, EXTEND, and all reports: see clock.h */
    int64_t when;                /* all reports: when it was told; see clock.h */
    struct lease lease;          /* GO */
    int64_t late_at;             /* GO: when the command is ended if it still runs; see clock.h */
    int64_t max_runtime;         /* GO: for how long it may run, ns; CLOCK_NEVER */
    int64_t token;               /* GO */
    uint64_t started;            /* KEEP */
    char held[AROUND_NAME_SIZE]; /* GO: to be added to ZKFLOCK_HELD, or empty */
    char node[GUARD_NODE_SIZE];  /* GO; other messages end before it */
};

struct guard {
    pid_t pid;
    int link;
};

/* Forks the guard.  All signals have to be blocked.  Returns 0, or -1 with errno. */
int guard_start(struct guard *guard, const struct guard_mandate *mandate);

/*
 * Orders.  A guard that is dead is not an error here: its end is told by SIGCHLD.  With GO come
 * lease_end, lease, late_at, max_runtime and token of terms; the rest of terms is filled in.
 */
void guard_go(const struct guard *guard, const struct guard_message *terms, const char *node,
              const char *held);
void guard_share(const struct guard *guard, int fd);
void guard_extend(const struct guard *guard, int64_t lease_end);
/* group_has_it: the caller's process group has got it already, from the terminal. */
void guard_signal(const struct guard *guard, int signal, bool group_has_it);
void guard_ask(const struct guard *guard, int signal);
void guard_keep(const struct guard *guard, const struct procid *user);
void guard_unused(const struct guard *guard);
void guard_release(const struct guard *guard);
/* whatever --on-lost says: nobody is left who wants the command to go on */
void guard_kill(const struct guard *guard, bool whatever);
void guard_dismiss(const struct guard *guard);

/* Takes the next report without waiting; returns whether there was one. */
bool guard_next(const struct guard *guard, struct guard_message *report);

#endif
