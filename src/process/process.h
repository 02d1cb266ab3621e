/*
 * Processes, as /proc shows them.
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
    int terminal;       /* the device of its controlling terminal; 0: it has none */
    char state;         /* a letter as ps(1) shows it */
    uint64_t start;     /* with the pid it means one process for good */
    bool listed;        /* from its parent's list of children, and only pid and parent are known */
    bool ours;          /* marks for tree.c */
    bool known;
};

/* Returns false if there is no such process, if it is hidden, and without a descriptor. */
bool process_read(pid_t pid, struct process *process);

/* Whether it has ended, though perhaps nobody has waited for it yet. */
bool process_has_ended(const struct process *process);

/* Whether /proc hides processes: those of others, and those that may not be traced (hidepid). */
bool process_some_hidden(void);

/* Whether the children of this process can be listed. */
bool process_children_listed(void);

/* Whether the parent lists it as its child. */
bool process_is_child(pid_t pid, pid_t parent);

/*
 * Kills all children of the calling process.  Their numbers mean nobody else until this process has
 * waited for them.
 */
void process_kill_children(void);

/* By pid, each once. */
struct process_list {
    struct process *items;
    size_t len;
};

/*
 * Lists the children of the calling process, as its list of children has them, and all others that
 * can be seen.  Without memory, descriptors or /proc some are missing.
 */
void process_list_fill(struct process_list *list);

/* Adds what is listed only as a child of one of them that is ours, and marks it as ours. */
void process_list_add_hidden(struct process_list *list);

struct process *process_list_find(const struct process_list *list, pid_t pid);

void process_list_release(struct process_list *list);

#endif
