/*
 * A process in the caller's process group that does nothing but note which signals it gets.
 *
 * No process can see whether a signal was sent to it alone or to its whole group.  If the witness,
 * which nobody knows, has got the same one from the same sender, it was sent to the group, to the
 * cgroup or to all of a user's processes, and the command has got it too.
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
 * Forks the witness, which dies with this process.  To be called with one thread.  Without it every
 * signal counts as sent to this process alone.
 */
void witness_start(struct witness *witness);

/*
 * Whether the witness has got the signal too, or does so in a moment: a sender that goes through a
 * list of processes takes some time.  Blocks for less than half a second.
 */
bool witness_has_got(struct witness *witness, const struct signals_received *signal);

/* What it has got so far says nothing about the command, which is about to be started. */
void witness_forget(const struct witness *witness);

void witness_end(struct witness *witness);

#endif
