/*
 * The keeper's way to the caller: signals come from there, stops and the exit status go there.  The
 * keeper calls all of these functions.
 *
 *     front_start()            first; it returns in the keeper
 *     front_introduce()        when the guard was forked
 *     front_next()             when link or signal_fd is readable
 *     front_before_command()   before the command starts
 *     front_stop()             when job control has stopped the command: zkflock stops too
 *     front_release()          with --hold, when the lock is held: the caller goes on
 *     front_become()           the same with --no-fork: the front becomes the command
 *     front_restore_terminal() when the command was killed
 *     front_forsake()          before the guard leaves
 *     front_tell_status()      when the status is known, also if it changes
 *     front_end()              last
 *
 * Under a terminal the caller waits for a process of its own, the front, which is the keeper's
 * parent.  Ctrl-Z stops front and command, while the keeper goes on with the proofs of life,
 * without which the lock would be lost.  Without a terminal, as in cron, in CI and under systemd,
 * there is no job control and no front, and the caller waits for the keeper itself; unless the
 * front has to end, or become the command, while the keeper goes on: with --hold and --no-fork.
 */
#ifndef ZKFLOCK_FRONT_H
#define ZKFLOCK_FRONT_H

#include <stdbool.h>
#include <sys/types.h>

#include "process/command.h"
#include "process/signals.h"
#include "process/witness.h"

/*
 * The front's process, as the keeper sees it:
 *
 *   ABSENT                the caller waits for the keeper, whose own signals count
 *   PRESENT  -> ABSENT    [front_release]
 *            -> KILLED    [front_next]
 *
 * Behind a front, even a killed one, only SIGCHLD counts of the keeper's own signals.
 */
enum front_state { FRONT_ABSENT, FRONT_PRESENT, FRONT_KILLED };

struct front {
    enum front_state state;
    int link;               /* PRESENT: to the front's process; else -1 */
    int signal_fd;          /* this process's own signals */
    struct witness witness; /* ABSENT: of what comes to this process */
    bool restores_terminal; /* at the end */
};

typedef void front_last_words(int status);

/*
 * Blocks signals, fills in what the command is to inherit, and, where there is a terminal, forks:
 * the caller's child becomes the front, and its child the keeper.  With command->hold, forks in any
 * case, and the keeper gets a session of its own; with command->in_place it is a child of the front
 * no longer when the front becomes the command.  The front calls last_words, which may be NULL,
 * when it ends with another status than 0.  To be called by a process with one thread.  Returns 0,
 * in the keeper alone; -1 with errno, without a fork.
 */
int front_start(struct front *front, struct command *command, front_last_words *last_words);

/* Returns the one of link and signal_fd that signals from the caller's side come by. */
int front_caller_fd(const struct front *front);

enum front_news {
    FRONT_NOTHING,
    FRONT_SIGNAL, /* one for zkflock or its command */
    FRONT_CHILD,  /* a child of the keeper has ended, or several */
    FRONT_DIED,   /* the front was killed: the caller no longer waits for this run */
};

/* Takes what has come, without waiting; fills in *signal with FRONT_SIGNAL. */
enum front_news front_next(struct front *front, struct signals_received *signal);

/* Returns whether all of the caller's process group has got the signal already. */
bool front_group_has(struct front *front, const struct signals_received *signal);

/* Forgets the signals that the group has got until now: the command, about to start, has not. */
void front_before_command(const struct front *front);

/* Tells the front, where there is one, the guard's pid, to wait for if the keeper dies. */
void front_introduce(const struct front *front, pid_t guard);

/*
 * Stops the front by that signal of job control, which has stopped the command of that pid; 0:
 * which came from the caller's side.  Has no effect if all has been continued meanwhile.
 * keeper_too: stops the keeper as well, which has no lock.
 */
void front_stop(const struct front *front, int number, pid_t command, bool keeper_too);

/*
 * Has the front restore the settings of the terminal when it ends, as a shell does when its own
 * command was killed: the exit status does not tell it.
 */
void front_restore_terminal(struct front *front);

/*
 * Sees to it that neither front nor keeper adopts what the command left behind when the guard
 * leaves.  A parent in another process group of the session counts as one that could continue a
 * stopped process, and when that parent ends, the kernel sends HUP and CONT to the group.  Signals
 * that come meanwhile are lost.
 */
void front_forsake(const struct front *front);

/* Ends the front with that status; the keeper goes on, and its own signals count from now on. */
void front_release(struct front *front, int status);

/*
 * The same, but the front executes the command.  environment has len bytes: "NAME=VALUE" to set,
 * "NAME" to unset, each with its terminating null byte.  Returns false with errno, and nothing has
 * changed, if the front cannot be told.
 */
bool front_become(struct front *front, const char *environment, size_t len);

/*
 * Tells the front, where there is one, the status to end with when the keeper has ended.  Without a
 * front the keeper has to end with that status.
 */
void front_tell_status(const struct front *front, int status);

/* Tells it, and ends the witness. */
void front_end(struct front *front, int status);

#endif
