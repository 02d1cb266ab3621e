/*
 * The front: the process that the caller started and waits for.  Towards the caller it stands for
 * the command: it takes signals, stops and goes on with it, and ends with its status.
 *
 *     front_start()     forks; the front stays inside, the keeper, its child, returns
 *     front_next()      when front->link is readable: what the front has to say
 *     front_stop()      the command was stopped by job control: the front stops too
 *     front_end()       all is done: the front ends with this status, and the keeper goes on to
 *                       close its session while the caller already goes on
 *
 * It is a process of its own so that Ctrl-Z can stop it: a keeper that stops sends no proofs of
 * life, and would lose the lock.  And kill -9 of the process that a user knows leaves a keeper
 * that ends the command and gives the lock back.
 */
#ifndef ZKFLOCK_FRONT_H
#define ZKFLOCK_FRONT_H

#include <stdbool.h>
#include <sys/types.h>

#include "command.h"
#include "signals.h"

struct front {
    int link;      /* -1: the front is dead */
    int signal_fd; /* the keeper's own signals, of which only SIGCHLD counts */
};

/*
 * Blocks signals and splits off the keeper, in a process group of its own; fills what the command
 * is to inherit.  Returns in the keeper alone.  -1 with errno if it cannot be done, then nothing
 * was split.
 */
int front_start(struct front *front, struct command_inheritance *inherited);

enum front_news { FRONT_NOTHING, FRONT_SIGNAL, FRONT_DIED };

/* Takes what the front has to say, without waiting; *signal with FRONT_SIGNAL. */
enum front_news front_next(struct front *front, struct signals_received *signal);

/* Tells the front who the guard is, which it waits for if the keeper dies. */
void front_introduce(const struct front *front, pid_t guard);

/* Stops the front with that signal of job control, and the keeper too while nothing is held. */
void front_stop(const struct front *front, int number, bool keeper_too);

/* Ends the front, and lets go of stdin, stdout and stderr, which somebody may read to the end. */
void front_end(struct front *front, int status);

#endif
