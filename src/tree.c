#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct process {
    pid_t pid;
    pid_t parent;
    bool ours;
};

/* The parent's pid, 0 if there is no such process. */
static pid_t parent_of(pid_t pid)
{
    char path[32];
    char text[512];

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);

    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;

    ssize_t len = read(fd, text, sizeof(text) - 1);

    close(fd);
    if (len <= 0)
        return 0;
    text[len] = '\0';

    /* "pid (name) state ppid ...": the name may hold anything, so look for its end. */
    const char *name_end = strrchr(text, ')');

    return name_end && strlen(name_end) > 4 ? (pid_t)strtol(name_end + 4, NULL, 10) : 0;
}

/* All processes of the machine that can be seen; NULL without memory or /proc. */
static struct process *list_processes(size_t *count)
{
    DIR *proc = opendir("/proc");
    struct process *list = NULL;
    size_t size = 0;

    *count = 0;
    if (!proc)
        return NULL;
    for (const struct dirent *entry = readdir(proc); entry; entry = readdir(proc)) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        pid_t parent = pid > 0 ? parent_of(pid) : 0;

        if (parent == 0)
            continue;
        if (*count == size) {
            size = size ? 2 * size : 256;

            struct process *longer = reallocarray(list, size, sizeof(list[0]));

            if (!longer)
                break;
            list = longer;
        }
        list[(*count)++] = (struct process){.pid = pid, .parent = parent};
    }
    closedir(proc);
    return list;
}

struct tree {
    struct process *list;
    size_t count;
    pid_t root;
};

static bool is_member(const struct tree *tree, pid_t pid)
{
    if (pid == tree->root)
        return true;
    for (size_t i = 0; i < tree->count; i++)
        if (tree->list[i].ours && tree->list[i].pid == pid)
            return true;
    return false;
}

/* Marks what descends from the root; a pass for each generation. */
static void mark_descendants(const struct tree *tree)
{
    bool changed = true;

    while (changed) {
        changed = false;
        for (size_t i = 0; i < tree->count; i++) {
            struct process *process = &tree->list[i];

            if (!process->ours && is_member(tree, process->parent))
                changed = process->ours = true;
        }
    }
}

static bool send_signal(const struct tree *tree, pid_t pid, int signal)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    bool sent = false;

    if (fd < 0) {
        /* Only without pidfds (before Linux 5.3). */
        return errno == ENOSYS && is_member(tree, parent_of(pid)) && kill(pid, signal) == 0;
    }
    /*
     * The descriptor now means one process for good.  It is still one of the tree's if its parent
     * is; that may be another than before, where the parent has just died of the same signal.
     */
    if (is_member(tree, parent_of(pid)))
        sent = syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0) == 0;
    close(fd);
    return sent;
}

size_t tree_signal(int signal)
{
    struct tree tree = {.root = getpid()};
    size_t sent = 0;

    tree.list = list_processes(&tree.count);
    mark_descendants(&tree);
    for (size_t i = 0; i < tree.count; i++)
        if (tree.list[i].ours)
            sent += send_signal(&tree, tree.list[i].pid, signal);
    free(tree.list);
    return sent;
}

bool tree_kill(void)
{
    pid_t pid;

    tree_signal(SIGKILL);
    do {
        pid = waitpid(-1, NULL, WNOHANG);
    } while (pid > 0 || (pid < 0 && errno == EINTR));
    return pid < 0 && errno == ECHILD;
}
