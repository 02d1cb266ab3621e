/*
 * All descendants of the calling process, which has to be a subreaper (PR_SET_CHILD_SUBREAPER),
 * so that what double-forks or calls setsid(2) stays one.
 *
 * A signal sent is not a death: the tree is dead when waitpid(2) says ECHILD.
 */
#ifndef ZKFLOCK_TREE_H
#define ZKFLOCK_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "clock.h"

/* Between two calls of tree_kill(): a tree that forks while it is killed takes several. */
#define TREE_KILL_ROUND (5 * CLOCK_MS)

/*
 * Sends a signal to every descendant.  Goes through /proc; each process is addressed by a pidfd, so
 * that no number that was reused is hit.  Returns how many were signalled.
 */
size_t tree_signal(int signal);

/*
 * Kills every descendant and reaps what can be reaped.  Returns whether none is left; else call
 * again soon, since a process that is being killed may have forked, and orphans take a moment to
 * arrive.
 */
bool tree_kill(void);

#endif
