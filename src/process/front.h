/*
 * The caller's side of zkflock: signals come from here, stops and the exit status go there.
 *
 *     front_start()     returns in the keeper
 *     front_next()      when front_fd() is readable: what has come from the caller's side
 *     front_stop()      the command was stopped by job control: zkflock stops too
 *     front_forsake()   the guard is about to leave
 *     front_end()       all is done
 *
 * Under a terminal this is a process of its own, the front, which the caller waits for and whose
 * child the keeper is.  Ctrl-Z can then stop the front with the command, while the keeper goes on
 * to send proofs of life; were the keeper to stop, the lock would be lost.  Without a terminal, in
 * cron, CI and under systemd, there is no job control, and the keeper is what the caller waits for.
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
};

typedef void front_last_words(int status);

/*
 * Blocks signals, splits the front off where there is a terminal, or detached: always, and the
 * keeper goes to a session of its own; and fills in what the command is to inherit.  last_words,
 * which may be NULL, is called by a front's process that ends with another status than 0.  To be
 * called by a process with one thread.  Returns 0 in the keeper alone; -1 with errno if it cannot
 * be done, and then nothing was split.
 */
int front_start(struct front *front, struct command_inheritance *inherited, bool detached,
                front_last_words *last_words);

/* The descriptors to wait for; the link may be -1. */
int front_link_fd(const struct front *front);
int front_signal_fd(const struct front *front);

/* The one of the two that signals from the caller's side come by. */
int front_caller_fd(const struct front *front);

enum front_news {
    FRONT_NOTHING,
    FRONT_SIGNAL, /* one for zkflock or its command */
    FRONT_CHILD,  /* a child of the keeper has ended, or several */
    FRONT_DIED,   /* the front's process was killed: nobody waits for this any more */
};

/* Takes what has come, without waiting; *signal with FRONT_SIGNAL. */
enum front_news front_next(struct front *front, struct signals_received *signal);

/* Whether the command has got the signal already, if it is in the caller's process group. */
bool front_group_has(struct front *front, const struct signals_received *signal);

/* The group is about to get the command: what it has got until now, the command has not. */
void front_before_command(const struct front *front);

/* Tells the front, where there is one, who the guard is, which it waits for if the keeper dies. */
void front_introduce(const struct front *front, pid_t guard);

/* Stops zkflock by that signal of job control; the keeper too while it only waits. */
void front_stop(const struct front *front, int number, bool keeper_too);

/*
 * The guard is about to leave: what the command left behind becomes a child of neither process.  In
 * the caller's session a parent in another process group counts as one that could continue it, and
 * at that one's end the kernel would send HUP and CONT to it if it is stopped.  Signals that come
 * meanwhile are lost.
 */
void front_forsake(const struct front *front);

/*
 * Ends a front's process with that status now, while this one goes on, and from now on hears its
 * own signals.
 */
void front_release(struct front *front, int status);

/*
 * Leaves the status for the front's process to end with, once this one has ended.  Where there is
 * none, this process has to end with it.
 */
void front_end(struct front *front, int status);

#endif
