/*
 * Finds out which processes belong to a tree, and addresses one of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/tree_state.h"

pid_t tree_parent(pid_t pid)
{
    struct process process;

    return process_read(pid, &process) ? process.parent : -1;
}

bool tree_descends(pid_t pid, pid_t ancestor)
{
    while (pid > 0 && pid != ancestor)
        pid = tree_parent(pid);
    return pid == ancestor;
}

bool tree_visible(void)
{
    char text[16] = "";

    /* The /proc of another pid namespace shows other numbers. */
    return readlink("/proc/self", text, sizeof(text) - 1) > 0 &&
           strtol(text, NULL, 10) == (long)getpid() &&
           (!process_some_hidden() || process_children_listed());
}

/*
 * Spare descriptors, for /proc, a file in it and a pidfd: when a command has to be ended, no others
 * may be left.
 */
static int reserve[3] = {-1, -1, -1};

void tree_reserve(void)
{
    for (size_t i = 0; i < sizeof(reserve) / sizeof(reserve[0]); i++)
        if (reserve[i] < 0)
            reserve[i] = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void tree_release_reserve(void)
{
    for (size_t i = 0; i < sizeof(reserve) / sizeof(reserve[0]); i++) {
        if (reserve[i] >= 0)
            close(reserve[i]);
        reserve[i] = -1;
    }
}

/* Returns whether the process of that number is marked, or the root. */
static bool has(const struct tree *tree, pid_t pid)
{
    const struct process *found = process_list_find(&tree->all, pid);

    return (pid && pid == tree->root) || (found && found->ours);
}

/* Makes a pass for each generation, at most. */
static void mark_descendants(const struct tree *tree)
{
    bool changed = true;

    while (changed) {
        changed = false;
        for (size_t i = 0; i < tree->all.len; i++) {
            struct process *process = &tree->all.items[i];

            if (!process->ours && has(tree, process->parent))
                changed = process->ours = true;
        }
    }
}

bool tree_still_has(const struct tree *tree, const struct process *process)
{
    struct process now;

    if (process->listed)
        return process_is_child(process->pid, process->parent);
    return process_read(process->pid, &now) && now.start == process->start && has(tree, now.parent);
}

void tree_mark_all(struct tree *tree)
{
    mark_descendants(tree);
    if (process_some_hidden()) {
        process_list_add_hidden(&tree->all);
        mark_descendants(tree);
    }
}

bool tree_pin(const struct tree *tree, const struct process *process, int *pidfd)
{
    *pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (*pidfd < 0 && (errno == ESRCH || errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return false;
    /* The pidfd means one process from now on: make sure that it is the right one. */
    if (tree_still_has(tree, process))
        return true;
    if (*pidfd >= 0)
        close(*pidfd);
    return false;
}

bool tree_signal_one(int pidfd, pid_t pid, int signal)
{
    if (pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) == 0)
        return true;
    return (pidfd < 0 || errno != ESRCH) && kill(pid, signal) == 0;
}
