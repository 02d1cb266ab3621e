/*
 * The guard: a process that starts the command and ends it, with all its descendants, before the
 * lease ends.  This header is the keeper's side: the keeper calls all of these functions, and the
 * guard, in guard_process.c, obeys and reports.
 *
 *     guard_start()       before the keeper's first thread: the guard then has one thread, and no
 *                         descriptor of the client library
 *     guard_share()       before guard_go(): the guard keeps a connection to a zkflock around this
 *                         one open until it ends, and ends the command at once if that one dies
 *     guard_go()          when the lock is held; STARTED, NOT_STARTED or REFUSED follows
 *     guard_extend()      after every proof of life; EXTENDED follows
 *     guard_keep()        a zkflock inside wants to use the lock, and may when KEPT follows: the
 *                         guard ends that one, too, when the lock is lost, even after the
 *                         command's end.  It does not answer if it has begun to end the tree
 *     guard_spare()       takes one KEEP back: that process no longer uses the lock
 *     guard_order()       gives another order, see enum guard_order
 *     guard_next()        when the link is readable: takes a report
 *
 * The guard also acts on its own.  It ends the command and all its descendants when the lease ends
 * without an extension, when the command's time is up, and when the keeper dies, which closes the
 * link; then it gives the dead keeper's place in the queue back.  When the guard dies, its
 * descendants become the keeper's.  A guard that is stopped shows in missing answers.
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
#include "process/process.h"

/* All that the guard knows from the fork on. */
struct guard_mandate {
    const struct command *command;
    const char *lock_path;
    struct servers *servers;           /* not resolved yet */
    const struct access_terms *access; /* for what the guard itself has to ask of them */
    struct legacy *legacy;
    int signal; /* sent first when the lock is lost */
    enum lease_on_lost on_lost;
    pid_t caller;    /* --hold: the process that the lock is held for; 0: there is a command */
    int caller_fd;   /* a pidfd of it; -1 */
    int front_link;  /* the keeper's, to be closed when nothing is left of the command; -1 */
    bool whole_tree; /* --tree: the command has ended when all its descendants have */
};

/* Orders, from the keeper. */
enum guard_order {
    GUARD_SHARE,   /* with a descriptor */
    GUARD_PREPARE, /* GO may follow soon: forks the process that will be the command */
    GUARD_GO,
    GUARD_EXTEND,
    GUARD_SIGNAL,         /* number: a signal for the command that came from the caller's side */
    GUARD_SIGNAL_OUTSIDE, /* the same, when all of the caller's process group has got it already:
                             only for a command that has left that group */
    GUARD_ASK,     /* number: the signal to send, and no more, when somebody wants the lock */
    GUARD_KEEP,    /* number, started: the process that wants to use the lock */
    GUARD_SPARE,   /* the same, if it lives on: it no longer uses the lock */
    GUARD_UNUSED,  /* the lock, about to be released, is not used any more: what the command left
                      behind may live on */
    GUARD_RELEASE, /* the caller gives back a lock that --hold took; EXITED follows */
    GUARD_KILL,    /* ends the command, since the lock is lost; number: not 0: even where --on-lost
                      says that the command goes on; EMPTY follows */
    GUARD_DISMISS, /* last, when the lock is released: the guard leaves, and kills nothing */
};

/* Reports, from the guard. */
enum guard_report {
    GUARD_FORKED,      /* number: the command's pid; reported before it is executed */
    GUARD_STARTED,     /* the command was executed; --hold: the caller is watched */
    GUARD_NOT_STARTED, /* number: errno */
    GUARD_STOPPED,     /* number: the signal that stopped the command */
    GUARD_EXITED,      /* number: the command's wait status; its descendants may live */
    GUARD_EXTENDED,    /* lease_end: the end of the lease that the guard keeps to now */
    GUARD_LEASE_OVER,  /* the lease ends without an extension; the guard does as --on-lost says */
    GUARD_LIMIT_OVER,  /* the command's time is up, and the guard ends it; EMPTY follows */
    GUARD_ORPHANED,    /* a zkflock around this one, whose lock is used, has died, and the guard
                          ends the tree; EMPTY follows */
    GUARD_REFUSED,     /* number: enum guard_refusal; nothing was started */
    GUARD_KEPT,        /* number, started: whom the guard ends with the tree from now on */
    GUARD_NOT_KEPT,    /* number, started: who has ended, or cannot be watched */
    GUARD_CHILDLESS,   /* --tree: nothing that the command started is left */
    GUARD_SIGNALLED,   /* the first signal was sent to the tree; EMPTY follows */
    GUARD_EMPTY,       /* nothing is left of what was to end; number: not 0: it took KILL */
};

/* Why: GO came when the lease had too little time left, after late_at, or after ORPHANED's cause.
 */
enum guard_refusal { GUARD_REFUSED_LEASE, GUARD_REFUSED_LATE, GUARD_REFUSED_ORPHANED };

/* Room for a znode's path and its end. */
#define GUARD_NODE_SIZE 1280

struct guard_message {
    int32_t type;
    int32_t number;
    int64_t lease_end;           /* GO, EXTEND, and all reports: see clock.h */
    int64_t when;                /* all reports: when it was sent; see clock.h */
    struct lease lease;          /* GO */
    int64_t late_at;             /* GO: the end of --deadline; see clock.h */
    int64_t max_runtime;         /* GO: how long the command may run, ns; CLOCK_NEVER */
    int64_t token;               /* GO */
    uint64_t started;            /* KEEP, SPARE, KEPT, NOT_KEPT */
    char held[AROUND_NAME_SIZE]; /* GO: the name to add to ZKFLOCK_HELD, or empty */
    char node[GUARD_NODE_SIZE];  /* GO; other messages end before it */
};

struct guard {
    pid_t pid;
    int link;
};

/* Forks the guard.  All signals have to be blocked.  Returns 0, or -1 with errno. */
int guard_start(struct guard *guard, const struct guard_mandate *mandate);

/*
 * Give orders.  None fails when the guard is dead: SIGCHLD tells of that.  None blocks: the order
 * is dropped if the link is full, which it is only when the guard is stopped, since no more than a
 * few KEEP and SPARE are under way at a time; so is a report, when the keeper is.  guard_go() takes
 * lease_end, lease, late_at, max_runtime and token of the terms.
 */
void guard_go(const struct guard *guard, const struct guard_message *terms, const char *node,
              const char *held);
bool guard_share(const struct guard *guard, int fd); /* false with errno: it is not shared */
void guard_extend(const struct guard *guard, int64_t lease_end);
void guard_keep(const struct guard *guard, const struct procid *user);
void guard_spare(const struct guard *guard, const struct procid *user);
void guard_order(const struct guard *guard, enum guard_order type, int number);

/* Takes the next report, without waiting; returns whether there was one. */
bool guard_next(const struct guard *guard, struct guard_message *report);

#endif
