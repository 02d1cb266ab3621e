/*
 * The guard's states, and what takes it from one to the next:
 *
 *   READY     -> RUNNING   GO, and the lease has time left        [guard_start_command]
 *             -> ENDED     GO, but the lease has too little time left, or a zkflock around this
 *                          one, whose lock is used, has died, or cannot be watched
 *   RUNNING   -> ENDED     the command cannot be forked or executed
 *   RUNNING   -> EXITED    the command ended by itself            [guard_reap]
 *             -> EXITED    --hold: RELEASE, or the caller ended   [guard_release_caller]
 *             -> LINGERING the command ended by itself, but after KEEP others may use the lock, or
 *                          under --tree what it started may be left: as RUNNING, without command
 *   RUNNING, LINGERING
 *             -> ENDING    the lease's first signal is due, or KILL          [guard_end_tree]
 *             -> LOST      the same under --on-lost warn: the command goes on
 *   RUNNING, LINGERING, LOST, under --on-lost term ENDING
 *             -> ENDING    the command's time is up                          [guard_timer_due]
 *   LOST      -> EXITED    the command ended by itself
 *             -> ENDING    KILL that overrides --on-lost
 *   LINGERING -> EXITED    nothing is left, and nobody else uses the lock; or UNUSED: nobody else
 *                          uses it, and the keeper is about to release it
 *   ENDING    -> KILLING   the grace is over; under --on-lost term only that of the limit
 *   ENDING, KILLING -> ENDED   waitpid() says ECHILD: nothing is left
 *   EXITED    -> LINGERING KEEP that came late: somebody is just being let in
 *   READY, EXITED, ENDED -> gone   DISMISS: what the command left behind lives on, who waits for GO
 *                                  does not
 *             -> gone      the keeper died: the guard releases its place     [guard_settle]
 *   any other -> KILLING   the keeper died                                   [link_closed]
 *   RUNNING, LOST, LINGERING, ENDING
 *             -> KILLING   a zkflock around this one, whose lock is used, has died  [watch_around]
 *   EXITED    -> KILLING   the keeper died, and KILL ended the command: one pattern hit both
 *
 * What holds: in RUNNING the timer is set to the time of the first signal or to the end of the
 * command's time, whichever is earlier, see guard_watch().  No state leads back to RUNNING,
 * whatever the keeper says.  The guard has a process group of its own, so that it gets no signal
 * that a terminal sends to the command's group, and from RUNNING on a session of its own, see
 * fork_runner().  While the command runs it writes nothing, except to name a process that it
 * could not kill, and allocates nothing, except to list processes for a kill.
 */
#ifndef ZKFLOCK_GUARD_STATE_H
#define ZKFLOCK_GUARD_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/lease.h"
#include "process/guard.h"

enum state { READY, RUNNING, LOST, EXITED, LINGERING, ENDING, KILLING, ENDED };

/* READY: the process that will be the command.  It waits on a pipe for GO. */
struct runner {
    pid_t pid; /* 0: none */
    int go_fd;
    int failure_fd; /* exec_fd to be */
};

struct guard_state {
    int link;     /* -1: the keeper is dead */
    int child_fd; /* SIGCHLD */
    int timer_fd;
    int around_fd; /* an epoll of what SHARE brought; -1: nothing */
    int exec_fd;   /* the pipe of command_become(); -1: closed, or no command */
    int caller_fd; /* the mandate's, while the guard watches the caller; else -1 */
    const struct guard_mandate *mandate;

    enum state state;
    struct runner runner;
    pid_t pid;     /* the command's; 0 when it is reaped */
    pid_t stopped; /* what the guard stopped for the terminal, as kill(2) takes it; 0: nothing */
    int64_t lease_end;
    struct lease lease;
    int64_t limit_at;        /* the end of the command's time */
    int exit_status;         /* the command's wait status */
    bool blind;              /* one of those around cannot be watched, for want of a descriptor */
    bool orphaned;           /* a zkflock around this one, whose lock is used, has died */
    bool used;               /* a zkflock inside uses the lock: KEPT, until UNUSED */
    enum lease_on_lost how;  /* ENDING: after which --on-lost it ends */
    int64_t kill_at;         /* ENDING, unless how is LEASE_TERM: when KILL is due */
    unsigned int kill_round; /* how many rounds of KILL there were */
    bool told_survivor;      /* that one lives on */
};

/* ---- guard_state.c ---- */

void guard_tell(const struct guard_state *guard, enum guard_report type, int number);

/* KEPT or NOT_KEPT. */
void guard_answer(const struct guard_state *guard, enum guard_report type,
                  const struct procid *user);

/* when: absolute, of CLOCK_BOOTTIME.  The timeout of poll(2) would not count a suspend. */
void guard_set_timer(const struct guard_state *guard, int64_t when);

/* Sets the timer for what the command may not outlive: the lease, and its own time. */
void guard_watch(const struct guard_state *guard);

/* Returns when to send the first signal. */
int64_t guard_first_signal_time(const struct guard_state *guard);

/* Gives a dead keeper's place in the queue back, and ends the process. */
_Noreturn void guard_settle(const struct guard_state *guard);

/* Returns whether the guard watches the lease. */
bool guard_is_guarding(const struct guard_state *guard);

/* ---- guard_end.c ---- */

/* Returns whether nothing is left of the tree. */
bool guard_tree_has_ended(const struct guard_state *guard);

/* Reports that, in ENDING, KILLING and LINGERING. */
void guard_tree_is_empty(struct guard_state *guard);

/* Sends KILL to all of the tree, and sets the timer for the next round if something is left. */
void guard_kill_tree(struct guard_state *guard);

/*
 * Ends the tree: with LEASE_KILL by the first signal, and by KILL after the grace; with LEASE_TERM
 * by the first signal alone; with LEASE_WARN not at all, until its time is up.
 */
void guard_end_tree(struct guard_state *guard, enum lease_on_lost how);

/* Reports that the lease ends, or has ended, and does as --on-lost says. */
void guard_lease_over(struct guard_state *guard);

/* Does what is due when the timer has run out. */
void guard_timer_due(struct guard_state *guard);

/* ---- guard_command.c ---- */

/* Gives the guard a process group of its own.  For GO it joins the caller's once more. */
void guard_leave_callers_group(const struct guard_mandate *mandate);

/* Obeys PREPARE. */
void guard_prepare(struct guard_state *guard);

/* Ends and reaps the process that waits for GO: an orphan would stay where init does not reap. */
void guard_end_runner(struct guard_state *guard);

/* Obeys GO, in READY. */
void guard_start_command(struct guard_state *guard, const struct guard_message *go);

/* To be called when exec_fd is readable: the command was executed, or cannot be. */
void guard_exec_settled(struct guard_state *guard);

/* To be called when children have ended or were stopped. */
void guard_reap(struct guard_state *guard);

/* --hold: obeys RELEASE; and to be called when caller_fd is readable: the caller has ended. */
void guard_release_caller(struct guard_state *guard);

/* ---- guard_process.c ---- */

/*
 * Runs the guard, in a fresh child of the keeper that has one thread and all signals blocked.  link
 * is its end of a nonblocking SOCK_SEQPACKET pair.  Ends the process.
 */
_Noreturn void guard_process(int link, pid_t keeper, const struct guard_mandate *mandate);

#endif
