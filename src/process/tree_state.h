/*
 * The inside of tree.h: tree.c signals and ends the tree, tree_outside.c keeps the outsiders, and
 * tree_member.c finds out which processes belong to a tree.
 */
#ifndef ZKFLOCK_TREE_STATE_H
#define ZKFLOCK_TREE_STATE_H

#include "process/process.h"
#include "process/tree.h"

/* All processes; the members are marked as ours. */
struct tree {
    struct process_list all;
    pid_t root; /* 0: the members descend from those that were marked first */
};

/* Returns whether the process of that number is marked, or the root. */
bool tree_has(const struct tree *tree, pid_t pid);

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

/* Returns a pidfd; -1 with errno: ESRCH, or no descriptor is left, or there are no pidfds. */
int tree_open_pidfd(pid_t pid);
bool tree_out_of_descriptors(int error);

/* Closes the spare descriptors of tree_reserve(). */
void tree_release_reserve(void);

/* ---- tree_outside.c ---- */

/* Forgets outsiders that have ended. */
void tree_forget_ended(void);

/* Signals the outsiders and their descendants, and marks them alone.  Returns how many. */
size_t tree_signal_outsiders(struct tree *tree, int signal);

/* Returns whether all outsiders that are known have ended. */
bool tree_outsiders_ended(void);

#endif
