/*
 * The inside of struct keeper, shared by the files that make up the keeper:
 *
 *     keeper.c          start and end
 *     keeper_connect.c  from the servers' names to a session; another try
 *     keeper_enter.c    locks that zkflocks around this one hold
 *     keeper_acquire.c  from the session to the lock
 *     keeper_once.c     --once-per, before and after the command
 *     keeper_run.c      the command under the lock
 *
 * and below these
 *
 *     keeper_end.c      ends the command's tree
 *     keeper_limit.c    --max-runtime and --deadline while the command runs
 *     keeper_events.c   takes in what comes from the session, the guard, the front and the kernel
 *     keeper_job.c      the command as the guard reports it
 *     keeper_fail.c     the exit status, and failures that several phases share
 *     keeper_reentry.c  others that use the lock
 *     keeper_wait.c     shows a person how the wait goes
 *     keeper_tell.c     tells the log of the lock
 *     keeper_state.c    which state may follow which, and questions that all of these ask
 *
 * Each struct below names the files that write it; all others only read it.
 */
#ifndef ZKFLOCK_KEEPER_STATE_H
#define ZKFLOCK_KEEPER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "ensemble/session.h"
#include "keeper/keeper.h"
#include "keeper/once.h"
#include "lock/contender.h"
#include "lock/lockset.h"
#include "lock/outlook.h"
#include "nesting/hold.h"
#include "nesting/reentry.h"
#include "process/front.h"
#include "process/guard.h"
#include "process/hook.h"
#include "process/tree.h"

/* keeper_fail.c: how it ends. */
struct keeper_outcome {
    int status;       /* to exit with */
    bool unreachable; /* the try failed because the ensemble cannot be reached */
    int tries_left;
};

/* keeper_events.c: what has come from outside. */
struct keeper_news {
    int ended_by;      /* the signal that ends zkflock before the command runs; 0: none */
    bool revoked;      /* somebody asked for the lock, and the keeper has passed that on */
    bool abandoned;    /* the front was killed */
    bool guard_dead;   /* somebody has killed it, or the keeper has */
    bool caller_ended; /* the caller of --hold, before it had the lock */
};

/* keeper_connect.c and keeper_enter.c: one try to take the lock; --retry makes several. */
struct keeper_try {
    int64_t started_at;
    struct session *session; /* NULL: there is none yet, or none is needed */
    struct lockset_item *items;
    size_t items_len;
    struct lockset *locks;         /* NULL: only locks of zkflocks around this one are needed */
    struct reentry_lock *wanted;   /* all locks asked for */
    struct reentry_entry *entries; /* those that are used by re-entry */
    size_t entries_len;
};

/* keeper_wait.c: the queue, as far as it is known; the last lines about it, and when to go on. */
struct keeper_wait {
    struct outlook *outlook;         /* NULL: nobody wanted to know */
    bool prepared;                   /* the guard was told that GO may follow soon */
    int64_t since;                   /* 0: not begun */
    int64_t look_at;                 /* when to look at the queue again */
    int64_t known_until;             /* of the last looks, after the wait; 0: none was answered */
    size_t ahead;                    /* as the lock had it at the last look of these */
    const struct lockset_item *item; /* of the last look */
    char told[CONTENDER_WHO_SIZE + 64]; /* what was told last, without the time */
};

/*
 * keeper_tell.c: the lock, as the log tells of it.
 *
 *   NOT_HELD -> HELD              [keeper_tell_acquired]
 *   HELD     -> RELEASED          [keeper_tell_released]
 *            -> LOST              [keeper_tell_lost_early, keeper_say_lost]
 *   NOT_HELD, RELEASED, LOST
 *            -> NOT_HELD          another try begins  [keeper_forget_tenure]
 */
enum tenure_state { TENURE_NOT_HELD, TENURE_HELD, TENURE_LOST, TENURE_RELEASED };

struct keeper_tenure {
    enum tenure_state state;
    int64_t since; /* unless NOT_HELD */
    int64_t until; /* LOST, RELEASED */
};

/* keeper_tell.c: what is to be said of late proofs, and of a loss. */
struct keeper_delays {
    int64_t late_proof; /* when the proof was due that was told to be late; 0: none is late */
    int64_t due_at;     /* when the keeper had something to do that it did late */
    int64_t late_by;    /* and how late */
};

/* keeper_reentry.c: others that use the lock. */
struct keeper_users {
    struct reentry *reentry; /* offers the locks to zkflocks inside the command; NULL: cannot */
    struct reentry_lock *offered; /* the locks that it offers */
    bool reported;                /* the guard was told of a zkflock that wants to use them */
    bool guarded;                 /* one was let in */
    bool caller_told;             /* --hold: the caller knows that it has the lock */
    bool caller_left;             /* --hold: the caller does without the lock from now on */
};

/*
 * keeper_job.c: the command, or under --hold the caller in its place, as the guard reports it.
 *
 *   NOT_ASKED -> ORDERED   the guard is told to start it                        [keeper_job_order]
 *   ORDERED   -> FORKED    there is a process, which executes nothing yet
 *             -> STARTED   a caller, which ran all the time
 *             -> REFUSED   it is too late to start it, for the lease or for the limit; or the guard
 *                          is stopped, and the limit is over              [keeper_job_refuse]
 *   ORDERED, FORKED
 *             -> FAILED    it cannot be executed
 *   FORKED    -> STARTED   it is executed
 *   FORKED, STARTED
 *             -> EXITED    by itself; what it started may live on.  If the guard is dead, the
 *                          keeper has reaped the command                  [keeper_job_exited]
 */
enum job_state {
    JOB_NOT_ASKED,
    JOB_ORDERED,
    JOB_FORKED,
    JOB_STARTED,
    JOB_REFUSED,
    JOB_FAILED,
    JOB_EXITED,
};

/* Why the guard has begun an end; the limit may follow where a loss does not end everything. */
enum job_end { JOB_NOT_ENDED, JOB_LEASE_OVER, JOB_LIMIT_OVER, JOB_ORPHANED };

/* The rest of the tree. */
enum job_rest {
    JOB_REST_UNKNOWN,
    JOB_CHILDLESS, /* --tree: nothing that the command started; others may use the lock */
    JOB_EMPTY,     /* nothing, of those others neither */
};

/* The means by which the tree was ended. */
enum job_means { JOB_BY_KILL, JOB_BY_SIGNAL, JOB_BY_SIGNAL_AND_KILL };

struct keeper_job {
    enum job_state state;
    enum job_end end;
    enum job_rest rest;
    enum job_means means;
    struct tree_child process; /* the command, from FORKED on */
    int64_t begun_at;          /* ORDERED: when the guard was told; then when it was forked */
    int64_t limit_over_at;     /* LIMIT_OVER: when the guard began that */
    int64_t empty_at;          /* CHILDLESS, EMPTY: since when, at the latest */
    int wait_status;           /* EXITED */
    int exec_error;            /* FAILED */
    int64_t guarded_until;     /* the end of the lease as the guard has confirmed it */
};

/*
 * keeper_run.c: what the keeper has decided about the command.
 *
 *   NOT_BEGUN -> RUNNING    the guard is told to start the command               [start]
 *   RUNNING   -> LINGERING  the command has ended, but zkflocks inside it still use its lock, or
 *                           under --tree something that it started still runs    [lingers_on]
 *   RUNNING, LINGERING
 *             -> ENDING     the lock is lost, one of zkflock's processes is dead or stopped, or the
 *                           command's time is up                                 [begin_end]
 *             -> LOST       the lock is lost under --on-lost warn: the command goes on
 *   LOST      -> ENDING     the command's time is up, or the guard is dead
 *
 * The run is over when the command has ended by itself or could not be executed; in LINGERING when
 * nobody uses the lock any more; in ENDING when nothing of the command's tree is left either.
 */
enum run_state { RUN_NOT_BEGUN, RUN_RUNNING, RUN_LINGERING, RUN_LOST, RUN_ENDING };

/* Why it went from RUNNING or LINGERING to LOST or ENDING, and from there to ENDING. */
enum run_reason {
    RUN_NO_TROUBLE,
    RUN_LEASE_OVER,
    RUN_ZNODE_GONE,
    RUN_GUARD_DEAD,
    RUN_GUARD_MUTE,
    RUN_LIMIT_OVER,
    RUN_ABANDONED,
    RUN_ORPHANED, /* a zkflock around this one, whose lock is used, has died */
};

struct keeper_run {
    enum run_state state;
    enum run_reason reason;
    int64_t troubled_at; /* unless NO_TROUBLE: when that was found */
    int64_t sent_end;    /* the end of the lease as told to the guard */
    int64_t sent_at;     /* when one was told that the guard may not have confirmed yet */
    int64_t next_proof;
    int64_t news_at; /* when to tell that a proof is not answered */
    bool lost;       /* the run has ended because the lock was lost */
};

/* keeper_end.c: the keeper ends the tree in place of the guard. */
struct keeper_end {
    bool by_keeper;
    int64_t next_kill;
    unsigned int kill_round;
    bool told_survivor;
};

/* keeper_limit.c: the limits on the command's time. */
struct keeper_limit {
    int64_t overdue_at; /* when the grace after the limit was seen to be over; 0: it is not */
};

struct keeper {
    /* Set at the start. */
    const struct options *options;
    const struct command *command;
    struct hook *hook;
    struct front *front;
    const struct hold *hold; /* NULL: the lock is for a command, not for a caller of --hold */
    struct legacy *legacy;
    struct guard guard;
    int64_t begun_at;
    int64_t late_at; /* the end of --deadline */

    struct keeper_outcome outcome;
    struct keeper_news news;
    struct access access; /* keeper_connect.c: read at the first try */
    bool access_open;
    struct keeper_try try;
    struct lease lease; /* of the lock, from keeper_acquire() on, which alone writes it */
    struct keeper_wait wait;
    struct once *once; /* keeper_once.c: --once-per: asked, or to be noted; NULL: nothing is */
    struct keeper_tenure tenure;
    struct keeper_delays delays;
    struct keeper_users users;
    struct keeper_job job;
    struct keeper_run run;
    struct keeper_end end;
    struct keeper_limit limit;
};

#endif
