/*
 * The inside of tree.h: tree.c signals and ends, tree_outside.c knows who counts besides the
 * descendants, tree_member.c who is in a tree.
 */
#ifndef ZKFLOCK_TREE_STATE_H
#define ZKFLOCK_TREE_STATE_H

#include "process/process.h"
#include "process/tree.h"

/* All processes, with marks for those that are in it. */
struct tree {
    struct process_list all;
    pid_t root; /* 0: none but those that were marked to begin with */
};

/* Whether one with that number is marked, or the root. */
bool tree_has(const struct tree *tree, pid_t pid);

/*
 * Marks what descends from the root and from what is marked already; adds to the list what /proc
 * hides of that.
 */
void tree_mark_all(struct tree *tree);

/*
 * Whether the number still means that process, and it is still one of the tree's, which it is if
 * its parent is; that may be another one than before, where the parent has just died of the same
 * signal.
 */
bool tree_still_has(const struct tree *tree, const struct process *process);

/* A pidfd; -1 with errno: ESRCH, or one that tree_out_of_descriptors() knows, or there are none. */
int tree_open_pidfd(pid_t pid);
bool tree_out_of_descriptors(int error);

/* Gives up what tree_reserve() has put by. */
void tree_release_reserve(void);

/* In tree_outside.c, as are the next: forgets those who have ended. */
void tree_forget_ended(void);

/* Sends them and their descendants a signal; marks them alone.  Returns how many were signalled. */
size_t tree_signal_outsiders(struct tree *tree, int signal);

/* Whether those who are known have ended. */
bool tree_outsiders_ended(void);

#endif
