/*
 * The tree: all descendants of the calling process, which is the guard, or the keeper when the
 * guard is dead.  It has to be a subreaper (PR_SET_CHILD_SUBREAPER), so that processes that
 * double-fork or call setsid(2) stay its descendants.  Outsiders, and their descendants, count as
 * well.
 *
 * A signal that was sent is no proof of a death.  The descendants are dead when waitpid(2) says
 * ECHILD, an outsider when its pidfd says so.
 */
#ifndef ZKFLOCK_TREE_H
#define ZKFLOCK_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/clock.h"
#include "process/process.h"

/* What a guard calls itself. */
#define TREE_GUARD_NAME "lock-guard"

/* A process whose wait status is kept. */
struct tree_child {
    pid_t pid; /* 0: none */
    bool reaped;
    int wait_status;
};

/* Notes in *kept that its process was reaped with that status, if pid is its. */
void tree_note_status(struct tree_child *kept, pid_t pid, int wait_status);

/* Opens spare descriptors for the calls below, close-on-exec; for each process that makes them. */
void tree_reserve(void);

/*
 * Adds a process that is no descendant, an outsider, and its descendants.  Not all of those can be
 * found: a process whose parent has died is no longer a descendant of the outsider.  Returns false
 * if it has ended, also if another process has got its number, and for want of memory.
 */
bool tree_add_outsider(const struct procid *id);

/* Takes one such call for that process back; descendants found by tree_signal() before stay. */
void tree_spare_outsider(const struct procid *id);

/*
 * Adds the caller of --hold.  pidfd is a pidfd of it, which is never closed here; -1: there are no
 * pidfds.  Returns false for want of memory.
 */
bool tree_add_caller(const struct procid *id, int pidfd);

/*
 * Leaves processes of the calling process's own session out of the outsiders' descendants, here and
 * in processes forked from here: an outsider that is a subreaper adopts the keeper of --hold, and
 * with it the guard, and these must not be ended.
 */
void tree_spare_session(void);

/*
 * Removes the caller.  Descendants of it that were found before stay; and so does the same process
 * as another outsider, when it has executed a zkflock that uses the lock.
 */
void tree_forget_caller(void);

/*
 * Returns whether all outsiders have ended, and those of their descendants that can be found,
 * except for guards of other zkflocks.
 */
bool tree_outsiders_gone(void);

/* Returns the parent's pid; 0: in another pid namespace; -1: there is no process pid. */
pid_t tree_parent(pid_t pid);

/* Returns whether pid descends from ancestor, as far as this pid namespace shows. */
bool tree_descends(pid_t pid, pid_t ancestor);

/*
 * Returns whether descendants can be found: /proc can be read, is that of this pid namespace, and
 * shows at least all children.
 */
bool tree_visible(void);

/*
 * Sends a signal to the tree, which it finds in /proc.  Each process is addressed by a pidfd, so
 * that the signal does not hit a process that has got the number since; without pidfds, by the
 * number, right after a check that it still means that process.  If nothing was signalled, as when
 * no descriptor or memory is left to read /proc with, signals child, a child that was not reaped
 * yet; 0: none.
 */
void tree_signal(int signal, pid_t child);

/*
 * The same for a tree that is not being ended: descendants of outsiders get the signal, but are
 * outsiders themselves no more than before.
 */
void tree_tell(int signal);

/*
 * Kills the tree and reaps what can be reaped.  *child as in tree_signal(); it becomes 0 when that
 * one is reaped.  *kept, unless NULL, is filled in when that one is.  Returns whether nothing is
 * left.  If something is, call it again after tree_kill_pause(): a process that is being killed may
 * have forked before, and its orphans take a moment to arrive.  At first it spares guards, so that
 * those whose keepers it has killed can end what only they know.
 */
bool tree_kill(pid_t *child, struct tree_child *kept);

/*
 * Returns how long to wait before the next round, ns, and counts *round, which begins at 0: from 5
 * to 40 ms as long as a lease's margin may last, then longer, for processes that cannot be killed.
 */
int64_t tree_kill_pause(unsigned int *round);

/*
 * Says which process of the command, by its name, or which outsider, lives on though it was sent
 * KILL, and what that means for the lock.  Returns false if there is none any more.
 */
bool tree_say_survivor(const char *command, const char *lock, bool lease_over);

#endif
