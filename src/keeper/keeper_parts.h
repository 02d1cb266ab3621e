/*
 * Functions that the files of the keeper have for each other; keeper_state.h lists these files.
 */
#ifndef ZKFLOCK_KEEPER_PARTS_H
#define ZKFLOCK_KEEPER_PARTS_H

#include "keeper/keeper_state.h"

/* ---- keeper_state.c ---- */

/* Go to the next state, which has to be one that may follow; for the owner of the struct alone. */
void keeper_set_tenure(struct keeper *keeper, enum tenure_state next);
void keeper_set_job(struct keeper *keeper, enum job_state next);
void keeper_set_run(struct keeper *keeper, enum run_state next);

/*
 * Returns when the lease of all locks that are held ends, by the last proofs that were answered.
 * Without own locks that is never: the zkflock around this one keeps its locks, and ends this one
 * with its tree when it loses them.
 */
int64_t keeper_lease_end(const struct keeper *keeper);

/* Returns when the next proof is due after the last answered one; never without own locks. */
int64_t keeper_next_proof(const struct keeper *keeper);

/* The znode and the token that the command is told of. */
const char *keeper_node(const struct keeper *keeper);
int64_t keeper_token(const struct keeper *keeper);

/* Returns how many zkflocks use the locks by re-entry. */
size_t keeper_users(const struct keeper *keeper);

/* Returns whether what counts has ended: the command, what it started, and users of the locks. */
bool keeper_nothing_left(const struct keeper *keeper);

/* ---- keeper_events.c ---- */

/*
 * Waits for what comes from the session, the guard, the front and the kernel, and takes it in.
 * Returns when something came, at the deadline, or before.
 */
void keeper_pump(struct keeper *keeper, int64_t deadline);

/* Takes in what the front has said, without waiting. */
void keeper_hear_front(struct keeper *keeper);

/* Kills the guard, unless it is dead; its descendants become the keeper's. */
void keeper_kill_guard(struct keeper *keeper);

/* ---- keeper_job.c ---- */

/* Tells the guard to start the command, under a lease with this end. */
void keeper_job_order(struct keeper *keeper, int64_t lease_end);

/* Takes in a report of the guard. */
void keeper_job_report(struct keeper *keeper, const struct guard_message *report);

/* Takes in that the keeper has reaped a process, which may be the command. */
void keeper_job_reaped(struct keeper *keeper, pid_t pid, int wait_status);

/* Sends KILL to what is left and reaps it, in place of the guard; to be called until EMPTY. */
void keeper_job_kill(struct keeper *keeper);

/* The command, which the keeper has reaped, had ended by itself. */
void keeper_job_exited(struct keeper *keeper);

/* The guard has not started the command, and no longer may. */
void keeper_job_refuse(struct keeper *keeper);

/* ---- keeper_end.c ---- */

/* Has the guard end the tree, or does so if the guard cannot; keeper->run says why. */
void keeper_begin_end(struct keeper *keeper);

/* Goes on with that; to be called again at keeper_end_due(). */
void keeper_go_on_ending(struct keeper *keeper);
int64_t keeper_end_due(const struct keeper *keeper);

/* ---- keeper_limit.c ---- */

/* Takes note of the time; to be called each time something has happened. */
void keeper_watch_limit(struct keeper *keeper);

/* Returns when to call that again. */
int64_t keeper_limit_due(const struct keeper *keeper);

/*
 * Returns when nothing may be left of a command whose time is up, if the guard is not stopped;
 * CLOCK_NEVER as long as the grace is not over.
 */
int64_t keeper_limit_late(const struct keeper *keeper);

/* Says that the command was ended because its time was up, and sets the status to exit with. */
void keeper_ended_by_limit(struct keeper *keeper);

/* ---- keeper_fail.c ---- */

/* Returns whether nothing is to be started: --hold takes the lock for a process that runs. */
bool keeper_starts_nothing(const struct keeper *keeper);

/* Sets the status to exit with and returns false, for a phase to return. */
bool keeper_stop(struct keeper *keeper, int status);

/* Do the same after saying why, a text that is freed; how: what became of the guard. */
bool keeper_not_taken(struct keeper *keeper, int status, char *why);
bool keeper_front_died(struct keeper *keeper);
bool keeper_guard_failed(struct keeper *keeper, const char *how);
bool keeper_caller_ended(struct keeper *keeper);

/* Does the same if the ensemble cannot be reached, which is an error only in the last try. */
bool keeper_unreachable(struct keeper *keeper, char *why);

/* Returns whether that was the reason, and tries are left; and begins one of these. */
bool keeper_may_try_again(const struct keeper *keeper);
void keeper_use_try(struct keeper *keeper);

/* Returns whether the time of --deadline is over. */
bool keeper_is_late(const struct keeper *keeper);

/*
 * Does what keeper_stop() does for that, and says why the command was not run by then.  fault: the
 * ensemble is why, and not others who hold the lock.
 */
bool keeper_too_late(struct keeper *keeper, bool fault, const char *why);

/*
 * Returns whether something ends the run before the command starts: a signal, the death of a
 * process of zkflock, a refusal.  The message and the status are then set.
 */
bool keeper_cut_short(struct keeper *keeper);

/* ---- keeper_connect.c ---- */

/* Begins a try, which started at that time. */
void keeper_begin_try(struct keeper *keeper, int64_t now);

/* Ends the session with all that depends on it, and re-entry; keeper_begin_try() may follow. */
void keeper_hang_up(struct keeper *keeper);

/*
 * Does the same, but does not wait for the end of a session that has no znode left.  Returns a
 * descriptor for close_request_send(), or -1 if the session was ended.
 */
int keeper_detach(struct keeper *keeper);

/* ---- keeper_enter.c ---- */

/*
 * Asks zkflocks around this one for the locks that they hold, and takes these off the items.
 * Returns whether to go on.
 */
bool keeper_enter(struct keeper *keeper, int64_t deadline);

/*
 * Has the guard keep these locks in use until it ends, even if the keeper is killed.  Returns false
 * after a message if it cannot.
 */
bool keeper_share_entries(struct keeper *keeper);

/* Uses them no longer. */
void keeper_leave_entries(struct keeper *keeper);

/* ---- keeper_reentry.c ---- */

/* --hold: tells the zkflocks around that the caller does without their locks. */
void keeper_leave_for_caller(struct keeper *keeper);

/* Offers the locks that are held to zkflocks inside the command. */
void keeper_offer(struct keeper *keeper);

/* Hears zkflocks inside the command, and answers those that need not be guarded. */
void keeper_serve_reentry(struct keeper *keeper);

/* The guard has taken a user over, or cannot: answers it. */
void keeper_hear_of_user(struct keeper *keeper, const struct procid *user, bool kept);

/* Refuses re-entry from now on: the locks are about to be given back. */
void keeper_close_reentry(struct keeper *keeper);

/* Ends the offer. */
void keeper_end_reentry(struct keeper *keeper);

/* Tells the caller of --hold that it has the lock; once. */
void keeper_announce(struct keeper *keeper);

/* Ends a --hold: the caller wants that, or nobody is left to tell the caller of its lock. */
void keeper_release(struct keeper *keeper);

/* ---- keeper_once.c ---- */

/* Drops the question of --once-per, with what is under way. */
void keeper_forget_once(struct keeper *keeper);

/* ---- keeper_wait.c ---- */

/* Shows a person how the wait goes, if there is one to see it; returns when to call again. */
int64_t keeper_tell_wait(struct keeper *keeper);

/* The wait is over, or interrupted: takes the line off the terminal. */
void keeper_end_wait(struct keeper *keeper);

/*
 * What one that has waited long enough for others finds in the queue.
 *   NOT_ASKED  it still waits
 *   UNKNOWN  the ensemble has not answered yet
 *   MOVING   nobody is ahead, or permits are left and those ahead take theirs: a matter of moments
 *   BUSY     others hold it
 */
enum keeper_queue {
    KEEPER_QUEUE_NOT_ASKED,
    KEEPER_QUEUE_UNKNOWN,
    KEEPER_QUEUE_MOVING,
    KEEPER_QUEUE_BUSY
};

/* Looks at the queue, and sets *again to when to call this again, without an answer. */
enum keeper_queue keeper_look_at_queue(struct keeper *keeper, int64_t *again);

/* Drops what is known of the queue. */
void keeper_forget_queue(struct keeper *keeper);

/* Returns the queue ahead, to be freed: "2 ahead, held for 3m12s by ci@runner7 pid 4711: make". */
char *keeper_describe_queue(const struct keeper *keeper);

/*
 * Tells the log and the hook that the wait is given up.  fault: the ensemble is why; text: the
 * sentence for people.
 */
void keeper_tell_busy(struct keeper *keeper, bool fault, const char *text);

/* ---- keeper_tell.c ---- */

/* Returns what was to be ended, to be freed: the command, or what it left behind. */
char *keeper_who_ran(const struct keeper *keeper);

void keeper_tell_acquired(struct keeper *keeper);
void keeper_tell_released(struct keeper *keeper);

/*
 * Tells of a loss before the command was started.  reason: a word for programs, "gone" for the
 * znode or "contact"; why: the end of a sentence.
 */
void keeper_tell_lost_early(struct keeper *keeper, const char *reason, const char *why);

/* Another try begins: the lock is not held. */
void keeper_forget_tenure(struct keeper *keeper);

/*
 * To be called when the keeper does something that was due at that time, late or not.  If it is
 * late, the keeper stood still since then.
 */
void keeper_note_delay(struct keeper *keeper, int64_t due);

/* Says that the lock is lost, and what was done about the command.  gone: the znode; else the lease
 * is over. */
void keeper_say_lost(struct keeper *keeper, bool gone);

/* Says that the command was ended because its time was up.  late: the time of --deadline. */
void keeper_say_limit(const struct keeper *keeper, bool late);

/*
 * Tells the log if a proof of life is late, and when one is answered again.  Returns when to call
 * again; to be called after each answer, too.
 */
int64_t keeper_tell_of_proofs(struct keeper *keeper);

#endif
