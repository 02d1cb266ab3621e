/*
 * Processes as /proc shows them.
 */
#ifndef ZKFLOCK_PROCESS_H
#define ZKFLOCK_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    pid_t pid;
    pid_t parent;       /* 0: in another pid namespace */
    unsigned int flags; /* the kernel's, PF_... */
    unsigned int threads;
    int terminal;     /* the device of its controlling terminal; 0: it has none */
    pid_t foreground; /* the process group in that terminal's foreground; -1: there is none */
    char state;       /* a letter as ps(1) shows it */
    uint64_t start;   /* with the pid it identifies one process for good */
    bool listed;      /* found in its parent's list of children: only pid and parent are known */
    bool ours;        /* marks of the tree, see tree_state.h */
    bool known;
};

/* Reads /proc.  Returns false if the process does not exist or is hidden, or for want of a
 * descriptor. */
bool process_read(pid_t pid, struct process *process);

/* Returns whether all its threads have ended, even if nobody has waited for it yet. */
bool process_has_ended(const struct process *process);

/* Returns whether the process was forked and has executed nothing since, like a subshell. */
bool process_is_bare_fork(pid_t pid);

/*
 * Returns whether the process is in this process's pid namespace, not in one below; true for one of
 * the own user that /proc hides.
 */
bool process_is_near(pid_t pid);

/* Fills in its effective user.  Returns false if the process does not exist or is hidden. */
bool process_user(pid_t pid, uid_t *uid);

/*
 * A process by number and start time: the number alone may mean another process as soon as the
 * first one was reaped.
 */
struct procid {
    pid_t pid;
    uint64_t started; /* in clock ticks since boot */
};

/* Fills in *id for the process that has this number now.  Returns false if there is none. */
bool procid_of(pid_t pid, struct procid *id);

/*
 * The same for the process of a pidfd.  Returns false, too, if it is in a pid namespace that is not
 * visible from here, or pidfd is something else.
 */
bool procid_of_pidfd(int pidfd, struct procid *id);

/* Returns whether both are the same process. */
bool procid_equal(const struct procid *a, const struct procid *b);

/* Returns whether the process of that number is still this one. */
bool procid_is_current(const struct procid *id);

/* Returns whether /proc hides processes of other users or that must not be traced (hidepid). */
bool process_some_hidden(void);

/* Returns whether the children of this process can be listed. */
bool process_children_listed(void);

/* Returns whether pid is in the parent's list of children. */
bool process_is_child(pid_t pid, pid_t parent);

/*
 * Returns whether the process leads a process group, and calls itself that: its name, and the first
 * word of its command line, or as much of that as there is room for.  That is what
 * helper_set_title() makes of a process; its file may be another one than this process executes,
 * after an upgrade.  NULL: no process does.  The group is asked for first, at a hundredth of the
 * cost.
 */
bool process_is_like(pid_t pid, const char *name);

/*
 * Returns what to send in place of that signal to a process that is spared if it is like that:
 * SIGCONT, since a stopped one could not end what only it knows.
 */
int process_spare(pid_t pid, const char *name, int signal);

/*
 * Kills all children of the calling process, but spares those that are like that; NULL: none.
 * Nobody else can get their numbers until this process has waited for them.
 */
void process_kill_children(const char *spared);

/* Sorted by pid, each once. */
struct process_list {
    struct process *items; /* to be freed */
    size_t len;
    size_t sorted; /* while the list grows: so many of the first are in order, and can be found */
};

/*
 * Fills an empty list with the children of the calling process, by its list of children, and marks
 * them ours; then with all other processes that /proc shows.  For want of memory, descriptors or
 * /proc some may be missing.
 */
void process_list_fill(struct process_list *list);

/* Adds children of processes that are ours if /proc shows them only there, and marks them ours. */
void process_list_add_hidden(struct process_list *list);

struct process *process_list_find(const struct process_list *list, pid_t pid);

#endif
