/*
 * All descendants of the calling process, which has to be a subreaper (PR_SET_CHILD_SUBREAPER),
 * so that what double-forks or calls setsid(2) stays one.
 *
 * A signal sent is not a death: the tree is dead when waitpid(2) says ECHILD, and an outsider when
 * its pidfd does.
 */
#ifndef ZKFLOCK_TREE_H
#define ZKFLOCK_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/clock.h"
#include "process/procid.h"

/* A process whose wait status is kept. */
struct tree_child {
    pid_t pid; /* 0: none */
    bool reaped;
    int wait_status;
};

/* Notes that this pid was reaped, with that status. */
void tree_note_status(struct tree_child *kept, pid_t pid, int wait_status);

/* Puts descriptors by for the calls below, close-on-exec; for each process that is to make them. */
void tree_reserve(void);

/*
 * From now on the tree has another process and its descendants too, as far as they can be found:
 * once its parent has died a process is nobody's descendant.  pidfd is the outsider's, and stays
 * the caller's; -1: one is opened here.  Returns false if that is not possible.
 */
bool tree_add_outsider(pid_t pid, int pidfd);

/* The same for a process that may have ended already, its number another one's: false then. */
bool tree_add_user(const struct procid *user);

/*
 * Nothing of the own session is found among those descendants, in this process and those that it
 * forks: where the outsider is a subreaper, a keeper without a parent and its guard are.
 */
void tree_spare_session(void);

/* Does so no longer; what has been seen of its descendants stays. */
void tree_forget_outsider(pid_t pid);

/* Whether all outsiders and their descendants have ended. */
bool tree_outsiders_gone(void);

/* The parent's pid; 0 if that one is in another pid namespace, -1 if there is no such process. */
pid_t tree_parent(pid_t pid);

/* Whether it descends from that other one, as far as can be seen from here. */
bool tree_descends(pid_t pid, pid_t ancestor);

/*
 * Whether /proc can be read, is this pid namespace's, and shows all children at least, without
 * which descendants are not found.
 */
bool tree_visible(void);

/*
 * Sends a signal to a process by its pidfd, or by its number where pidfds are not to be had, as
 * under container run times whose filters are older than they are.  pidfd is -1 then, and the
 * caller has just made sure of the number.
 */
bool tree_signal_one(int pidfd, pid_t pid, int signal);

/*
 * Sends a signal to every descendant.  Goes through /proc; each process is addressed by a pidfd, so
 * that no number that was reused is hit; where pidfds are not to be had, by its number, right after
 * it was found to mean the same process still.  Where /proc shows none (there may be no descriptor
 * or memory left to read it with), child is signalled, a child that was not reaped yet; 0: there is
 * none.  Returns how many were signalled.
 */
size_t tree_signal(int signal, pid_t child);

/*
 * Kills every descendant and reaps what can be reaped; *child as above, 0 once it is.  Returns
 * whether none is left; else to be called again after tree_kill_pause(), since a process that is
 * being killed may have forked, and orphans take a moment to arrive.  Fills in *kept, unless it is
 * NULL, when it reaps that one.
 */
bool tree_kill(pid_t *child, struct tree_child *kept);

/*
 * How long to wait before the next round, ns: from 5 to 40 ms as long as a lease's margin may last,
 * then longer, for what cannot be killed.  *round counts from 0.
 */
int64_t tree_kill_pause(unsigned int *round);

/* One of the descendants that has not ended; 0: there is none. */
pid_t tree_survivor(void);

#endif
