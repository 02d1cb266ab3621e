/*
 * All descendants of the calling process, which has to be a subreaper (PR_SET_CHILD_SUBREAPER),
 * so that what double-forks or calls setsid(2) stays one.
 *
 * A signal sent is not a death: the tree is dead when waitpid(2) says ECHILD.
 */
#ifndef ZKFLOCK_TREE_H
#define ZKFLOCK_TREE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Sends a signal to every descendant but spare (0: none) and what descends from it.  Goes through
 * /proc; each process is addressed by a pidfd, so that no number that was reused is hit.  Returns
 * how many were signalled.
 */
size_t tree_signal(int signal, pid_t spare);

/*
 * Kills every descendant and reaps what can be reaped.  Returns whether none is left; else call
 * again soon, since a process that is being killed may have forked, and orphans take a moment to
 * arrive.
 */
int tree_kill(void);

#endif
