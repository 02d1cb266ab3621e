/*
 * The witness: a process in the caller's process group that only notes which signals it gets.
 *
 * No process can see whether a signal was sent to it alone or to its whole group.  But nobody sends
 * a signal to the witness alone.  If it has got the same signal from the same sender, that was sent
 * to the group, to the cgroup or to all of a user's processes, and the command has got it too.
 */
#ifndef ZKFLOCK_WITNESS_H
#define ZKFLOCK_WITNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/signals.h"

struct witness {
    pid_t pid; /* 0: there is none */
    int link;
    uint32_t asked; /* the number of the last question */
};

/*
 * Forks the witness, which dies with this process.  To be called by a process with one thread.  If
 * that fails, every signal counts as sent to this process alone.
 */
void witness_start(struct witness *witness);

/*
 * Returns whether the witness has got the signal too.  Blocks for less than half a second: a sender
 * that goes through a list of processes takes some time.
 */
bool witness_has_got(struct witness *witness, const struct signals_received *signal);

/* Forgets what the witness has got so far: the command, about to start, has not got it. */
void witness_forget(const struct witness *witness);

/* Ends the witness, if there is one. */
void witness_end(struct witness *witness);

#endif
