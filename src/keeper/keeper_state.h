/*
 * The inside of struct keeper, shared by the files that make up the keeper:
 *
 *     keeper.c          start and end
 *     keeper_connect.c  from the servers' names to a session; another try
 *     keeper_enter.c    the locks of other zkflocks around this one
 *     keeper_acquire.c  from the session to the lock
 *     keeper_once.c     --once-per, before and after the command
 *     keeper_run.c      the command under the lock
 *
 * and below these
 *
 *     keeper_events.c   what comes from all sources
 *     keeper_fail.c     why it goes no further
 *     keeper_reentry.c  who else uses the lock
 *     keeper_wait.c     what a person is told while it is waited for
 *     keeper_tell.c     what is told of the lock in the log
 *     keeper_state.c    what all of them ask
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

/* What was told of the wait, and when more is due. */
struct keeper_wait {
    int64_t since;   /* 0: not begun */
    int64_t look_at; /* when to look at the queue again */
    size_t ahead;    /* as the lock had it at the last look */
    const struct lockset_item *item;
    int64_t told_place; /* which znode it was told of, by its token */
    size_t told_ahead;
    bool told_settling;
    char told_holder[CONTENDER_WHO_SIZE];
};

struct keeper {
    const struct options *options;
    const struct command *command;
    struct hook *hook;
    int64_t begun_at;
    int64_t started_at;  /* the try */
    int64_t late_at;     /* the end of --deadline */
    int64_t acquired_at; /* 0: it was not */
    int64_t ended_at;    /* when it was given back or lost; 0: it was not */
    int64_t late_proof;  /* one that is told to be late: when it was due; 0: none is */
    int tries_left;
    struct front *front;
    const struct hold *hold; /* the lock is held for a caller, and there is no command; NULL */
    bool caller_ended;       /* before it was held */
    bool announced;          /* the caller knows that it is held */
    bool released;           /* and does without it from now on */
    bool revoked;            /* somebody asks for the lock; it has been said, and done */
    int ended_by;            /* the signal that ends zkflock before the command runs; 0: none */
    bool running;
    bool lost;
    bool unreachable; /* that is why it ends */
    bool abandoned;   /* the front was killed */
    int status;       /* to exit with */

    struct legacy *legacy;
    struct guard_mandate mandate;
    struct guard guard;
    bool guard_dead;

    struct session *session;
    struct lockset_item *items;
    size_t items_len;
    struct lockset *locks;         /* NULL: none are needed but those of zkflocks around this one */
    struct reentry_lock *wanted;   /* all locks asked for; those of the items first */
    struct reentry_entry *entries; /* those that are used by re-entry */
    size_t entries_len;
    struct reentry *reentry; /* offers the locks to zkflocks inside the command */
    bool guard_keeps;        /* and the guard knows that one has come */
    struct lease lease;      /* of the lock; from keeper_acquire() on */
    struct outlook *outlook; /* on the queue that is waited in; NULL: nobody wanted to know */
    struct keeper_wait wait;
    struct once *once; /* --once-per: asked, or to be noted; NULL: nothing is */

    /* what the guard told of the command */
    struct tree_child child; /* the command, told before it is executed */
    int64_t go_at;           /* when that was, before that when the guard was told to start it */
    bool started;
    bool exited;
    int wait_status;
    int exec_error;
    bool lease_over;
    bool limit_over;       /* the command's time is up, and it is being ended for that */
    int64_t limit_over_at; /* when the guard began that */
    bool signalled;        /* after an end was begun: by the guard */
    bool refused;          /* it was too late to start it, for the lease or the limit */
    bool childless;        /* --tree: what the command started has ended; others may use the lock */
    bool tree_empty;       /* after an end, and of those others too */
    int64_t empty_at;      /* when that came true */
    bool kill_needed;
    int64_t guarded_until; /* the lease's end as the guard has confirmed it */

    /* what is to be said of a loss */
    int64_t lost_at;     /* when it was found */
    int64_t delayed_at;  /* when something was due that was done late */
    int64_t delayed_for; /* and how late */
};

/* ---- keeper_state.c ---- */

/*
 * When the lease of all locks that are held ends, by the last proofs that were answered.  Without
 * own locks: never, since those of a zkflock around this one are kept by that one, which ends this
 * one with its tree.
 */
int64_t keeper_lease_end(const struct keeper *keeper);

/* What the command is told of its lock. */
const char *keeper_node(const struct keeper *keeper);
int64_t keeper_token(const struct keeper *keeper);

/* How long to wait for a server, ns: --connect-timeout, or what --deadline leaves of it. */
int64_t keeper_patience(const struct keeper *keeper);

/* ---- keeper_events.c ---- */

/*
 * Waits for what comes from the session, the guard and the kernel, and takes it in; returns when
 * something came, at the deadline, or before.
 */
void keeper_pump(struct keeper *keeper, int64_t deadline);

/* Takes in what the front has said, without waiting. */
void keeper_hear_front(struct keeper *keeper);

/* ---- keeper_fail.c ---- */

/* Sets the status to exit with and returns false, for a phase to return. */
bool keeper_stop(struct keeper *keeper, int status);

/* The same after saying why: ends that several phases share. */
bool keeper_ended_by_signal(struct keeper *keeper);
bool keeper_front_died(struct keeper *keeper);
bool keeper_guard_died(struct keeper *keeper);

/*
 * The same for an ensemble that cannot be reached; the reason is told as an error only if this was
 * the last try.
 */
bool keeper_unreachable(struct keeper *keeper, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether the time of --deadline is over. */
bool keeper_is_late(const struct keeper *keeper);

/*
 * keeper_stop() for that, and why the command was not run by then; fault: the ensemble, not others
 * who hold the lock.
 */
bool keeper_too_late(struct keeper *keeper, bool fault, const char *why);

/* Whether something ends the wait before the command runs; then the above has been done for it. */
bool keeper_cut_short(struct keeper *keeper);

/* ---- keeper_connect.c ---- */

/* Ends the session with all that depends on it, and re-entry; keeper_connect() may follow. */
void keeper_hang_up(struct keeper *keeper);

/* ---- keeper_enter.c ---- */

/*
 * Uses what zkflocks around this one hold, and takes it off the items.  Returns whether to go on.
 */
bool keeper_enter(struct keeper *keeper, int64_t deadline);

/* ---- keeper_reentry.c ---- */

/* Offers the locks that are held to zkflocks inside the command. */
void keeper_offer(struct keeper *keeper);

/* Answers zkflocks inside the command. */
void keeper_serve_reentry(struct keeper *keeper);

/* What is used by re-entry is used until the guard has ended as well, should this be killed. */
void keeper_share_entries(const struct keeper *keeper);

/* Lets nobody in any more: the locks are about to be given back. */
void keeper_close_reentry(struct keeper *keeper);

/* Hangs up, inwards and outwards. */
void keeper_end_reentry(struct keeper *keeper);

/* Tells the caller of a hold that it has the lock. */
void keeper_announce(struct keeper *keeper);

/* Gives back what a hold holds, when the caller wants it or whoever may end it. */
void keeper_release(struct keeper *keeper);

/* ---- keeper_wait.c ---- */

/* Tells a person how the wait goes, where there is one; returns when to call again. */
int64_t keeper_tell_wait(struct keeper *keeper);

/* The wait is over, or interrupted: nothing of it is left on the terminal. */
void keeper_end_wait(struct keeper *keeper);

/* Whether it is known who is ahead; if not, that is asked. */
bool keeper_knows_queue(struct keeper *keeper);

/* Whether permits are free, as far as is known, and it waits for its turn only: for a moment. */
bool keeper_permits_left(const struct keeper *keeper);

/* Who is ahead, as far as is known: "2 ahead, held for 3m12s by ci@runner7 pid 4711: make". */
void keeper_describe_queue(const struct keeper *keeper, char *text, size_t size);

/*
 * Tells in the log and to the hook that it gives up waiting; fault: the ensemble is why; text: the
 * sentence for people.
 */
void keeper_tell_busy(struct keeper *keeper, bool fault, const char *text);

/* ---- keeper_tell.c ---- */

/*
 * Events for the log.  The reason for a loss is a word for programs: the znode is "gone", or there
 * was no "contact".
 */
void keeper_tell_acquired(struct keeper *keeper);
void keeper_tell_released(struct keeper *keeper);

/* A loss before the command was started; why: the end of a sentence. */
void keeper_tell_lost_early(struct keeper *keeper, const char *reason, const char *why);

/*
 * What was due then is done only now, or not at all: zkflock stood still since, or a part of it. To
 * be called whether or not it is late.
 */
void keeper_note_delay(struct keeper *keeper, int64_t due);

/* The command was ended, or goes on, without its lock: the znode is gone, or the lease is over. */
void keeper_say_lost(struct keeper *keeper, bool gone);

/* The command was ended because its time was up; late: that of --deadline. */
void keeper_say_limit(const struct keeper *keeper, bool late);

/*
 * Something of the command lives on though it was sent KILL, maybe past the lease: says which
 * process.  Returns false if there is none any more.
 */
bool keeper_say_survivor(const struct keeper *keeper, bool lease_over);

/*
 * Tells if a proof of life is late, and when one is answered again; to be called at that time, and
 * after each answer.  Returns when to call again.
 */
int64_t keeper_tell_of_proofs(struct keeper *keeper);

#endif
