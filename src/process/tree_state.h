/*
 * The inside of tree.h: tree.c signals and ends the tree, tree_outside.c keeps the outsiders, and
 * tree_member.c finds out which processes belong to a tree.
 */
#ifndef ZKFLOCK_TREE_STATE_H
#define ZKFLOCK_TREE_STATE_H

#include "process/tree.h"

/* All processes; the members are marked as ours. */
struct tree {
    struct process_list all;
    pid_t root; /* 0: the members descend from those that were marked first */
};

/*
 * Marks all descendants of the root and of the processes that are marked already, and adds those
 * that /proc hides to the list.
 */
void tree_mark_all(struct tree *tree);

/*
 * Returns whether the number still means that process and its parent is a member of the tree.  The
 * parent need not be the same as before, which may just have died of the same signal.
 */
bool tree_still_has(const struct tree *tree, const struct process *process);

/*
 * Opens a pidfd of a process; -1: there are no pidfds, as under container run times whose filters
 * are older than they are.  Returns whether the process is still a member of the tree; false, with
 * no pidfd open, also for want of a descriptor.
 */
bool tree_pin(const struct tree *tree, const struct process *process, int *pidfd);

/*
 * Sends a signal to a process by its pidfd; with -1, and where a filter forbids that, to its
 * number, of which the caller has just made sure.  Returns whether it was sent.
 */
bool tree_signal_one(int pidfd, pid_t pid, int signal);

/* Closes the spare descriptors of tree_reserve(). */
void tree_release_reserve(void);

/* ---- tree_outside.c ---- */

/* Forgets outsiders that have ended. */
void tree_forget_ended(void);

/*
 * Signals the outsiders and their descendants, and marks them alone.  remember: makes outsiders of
 * the descendants, which could not be found any more once their parents have ended.  Guards among
 * them are only continued.  Returns how many got a signal.
 */
size_t tree_signal_outsiders(struct tree *tree, int signal, bool remember);

/* Returns an outsider that has not ended, and is no guard; 0: all that are known have. */
pid_t tree_outsider_left(void);

#endif
