/*
 * The guard's states, and what takes it from one to the next:
 *
 *   READY    -> RUNNING    GO, and the lease has time left        [guard_start_command]
 *            -> ENDED      GO, but the command cannot be started
 *   RUNNING  -> EXITED     the command ended by itself            [guard_reap]
 *            -> ENDING     the lease's first signal is due, or KILL     [guard_end_tree]
 *            -> LOST       the same under --on-lost warn: the command goes on
 *            -> ENDING     the command's time is up, in LOST, LINGERING and, under --on-lost term,
 *                          ENDING too                             [guard_timer_due]
 *            -> KILLING    the keeper died                        [link_closed]
 *   RUNNING  -> EXITED     RELEASE, or the end of the caller, where the lock is held for one
 *   LOST     -> EXITED     the command ended by itself
 *   RUNNING  -> LINGERING  the same after KEEP: others may use its lock; or under --tree: what it
 *                          started may be left; as RUNNING, but for the command itself
 *   LINGERING -> EXITED    nothing is left, and nobody else uses the lock; or UNUSED: nobody else
 *                          uses it, and it is about to be given back
 *   ENDING   -> KILLING    the grace is over; under --on-lost term that of the limit alone
 *   ENDING, KILLING -> ENDED    waitpid() says ECHILD: nothing is left
 *   READY, EXITED, ENDED -> gone   DISMISS; what the command left behind lives on
 *                        -> gone   the keeper died: its place is given back  [guard_settle]
 *   EXITED   -> KILLING    the keeper died, and the command by KILL: both were hit by one pattern
 *
 * What holds: in RUNNING the timer is set to the first signal's time or to the end of the command's
 * time, whichever is earlier, see guard_watch(); what has been left is never
 * RUNNING again, whatever the keeper says; the process group is the guard's own, so that what a
 * terminal sends to the command's group does not reach it, and from RUNNING on the session, too,
 * see spawn(); it writes nothing and allocates nothing while the command runs, except to list
 * processes for a kill.
 */
#ifndef ZKFLOCK_GUARD_STATE_H
#define ZKFLOCK_GUARD_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/lease.h"
#include "process/guard.h"

enum state { READY, RUNNING, LOST, EXITED, LINGERING, ENDING, KILLING, ENDED };

struct guard_state {
    int link;     /* -1: the keeper is dead */
    int child_fd; /* SIGCHLD */
    int timer_fd;
    int exec_fd;   /* tells why the command could not be executed; -1: settled */
    int caller_fd; /* the mandate's while it is watched; else -1 */
    const struct guard_mandate *mandate;

    enum state state;
    pid_t pid;     /* the command's; 0 when it is reaped */
    pid_t stopped; /* what was stopped on behalf of the terminal, as kill(2) takes it; 0: nothing */
    int64_t lease_end;
    struct lease lease;
    int64_t limit_at;        /* the end of the command's time */
    int exit_status;         /* the command's wait status */
    bool used;               /* a zkflock inside the command was let in */
    enum lease_on_lost how;  /* ENDING */
    int64_t kill_at;         /* ENDING, unless how is LEASE_TERM: when KILL is due */
    unsigned int kill_round; /* above 0: KILL was used */
};

/* ---- guard_state.c ---- */

void guard_tell(const struct guard_state *guard, enum guard_report type, int number);

/* Absolute and of CLOCK_BOOTTIME: poll's own timeout would not count a suspend. */
void guard_set_timer(const struct guard_state *guard, int64_t when);

/* Sets the timer for what a command may not outlive: its lease, and its own time. */
void guard_watch(const struct guard_state *guard);

/* When to send KILL, and the first signal. */
int64_t guard_kill_time(const struct guard_state *guard);
int64_t guard_first_signal_time(const struct guard_state *guard);

/* Ends the process, having put a dead keeper's affairs in order. */
_Noreturn void guard_settle(const struct guard_state *guard);

/* Whether the lease is being watched. */
bool guard_is_guarding(const struct guard_state *guard);

/* ---- guard_end.c ---- */

/* Whether nothing is left. */
bool guard_tree_has_ended(const struct guard_state *guard);
void guard_tree_is_empty(struct guard_state *guard);

/* A round of KILL, now. */
void guard_kill_tree(struct guard_state *guard);

/* The lock is lost, for good, or zkflock was killed: whatever comes now, the command ends. */
void guard_end_tree(struct guard_state *guard, enum lease_on_lost how);

/* The lease ends, or has ended: tells the keeper, and does as --on-lost says. */
void guard_lease_over(struct guard_state *guard);

void guard_timer_due(struct guard_state *guard);

/* ---- guard_command.c ---- */

void guard_start_command(struct guard_state *guard, const struct guard_message *go);

/* The pipe of the command's execution has something, or has closed. */
void guard_exec_settled(struct guard_state *guard);

/* Children have changed. */
void guard_reap(struct guard_state *guard);

/* The caller, in the place of a command, has ended, or does without the lock. */
void guard_release_caller(struct guard_state *guard);
void guard_caller_ended(struct guard_state *guard);

#endif
