#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procid.h"

struct process {
    pid_t pid;
    pid_t parent;
    bool ours;
    bool known; /* an outsider that a pidfd is there for */
};

pid_t tree_parent(pid_t pid)
{
    return procid_parent(pid);
}

bool tree_descends(pid_t pid, pid_t ancestor)
{
    while (pid > 0 && pid != ancestor)
        pid = tree_parent(pid);
    return pid == ancestor;
}

/*
 * Descriptors put by, for /proc, a file in it and a pidfd: others may have taken the last ones by
 * the time when a command has to be ended.
 */
static int reserve[3] = {-1, -1, -1};

void tree_reserve(void)
{
    for (size_t i = 0; i < sizeof(reserve) / sizeof(reserve[0]); i++)
        if (reserve[i] < 0)
            reserve[i] = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void release_reserve(void)
{
    for (size_t i = 0; i < sizeof(reserve) / sizeof(reserve[0]); i++) {
        if (reserve[i] >= 0)
            close(reserve[i]);
        reserve[i] = -1;
    }
}

static int by_pid(const void *a, const void *b)
{
    const struct process *x = a;
    const struct process *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* All processes of the machine that can be seen, by pid; NULL without memory or /proc. */
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
        pid_t parent = pid > 0 ? tree_parent(pid) : -1;

        if (parent < 0)
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
    if (*count > 0)
        qsort(list, *count, sizeof(list[0]), by_pid);
    return list;
}

struct tree {
    struct process *list; /* by pid */
    size_t count;
    pid_t root; /* 0: none */
};

static struct process *find(const struct tree *tree, pid_t pid)
{
    const struct process key = {.pid = pid};

    return tree->count ? bsearch(&key, tree->list, tree->count, sizeof(key), by_pid) : NULL;
}

static bool is_member(const struct tree *tree, pid_t pid)
{
    const struct process *found = find(tree, pid);

    return (pid && pid == tree->root) || (found && found->ours);
}

/* Marks what descends from the root and from what is marked already; a pass for each generation. */
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
        return errno == ENOSYS && is_member(tree, tree_parent(pid)) && kill(pid, signal) == 0;
    }
    /*
     * The descriptor now means one process for good.  It is still one of the tree's if its parent
     * is; that may be another than before, where the parent has just died of the same signal.
     */
    if (is_member(tree, tree_parent(pid)))
        sent = syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0) == 0;
    close(fd);
    return sent;
}

/* ---- those who are not descendants ---- */

/* Those that were added, and those of their descendants that were ever seen. */
struct outsider {
    pid_t pid;
    int pidfd;
    bool borrowed; /* the pidfd */
};

static struct outsider *outsiders;
static size_t outsiders_len;

static bool has_ended(const struct outsider *outsider)
{
    struct pollfd end = {.fd = outsider->pidfd, .events = POLLIN};

    return poll(&end, 1, 0) > 0;
}

static void drop(size_t i)
{
    if (!outsiders[i].borrowed)
        close(outsiders[i].pidfd);
    outsiders[i] = outsiders[--outsiders_len];
}

static void forget_ended(void)
{
    for (size_t i = outsiders_len; i > 0; i--)
        if (has_ended(&outsiders[i - 1]))
            drop(i - 1);
}

static void remember(pid_t pid, int pidfd, bool borrowed)
{
    struct outsider *longer = reallocarray(outsiders, outsiders_len + 1, sizeof(outsiders[0]));

    if (!longer)
        return;
    outsiders = longer;
    outsiders[outsiders_len++] =
        (struct outsider){.pid = pid, .pidfd = pidfd, .borrowed = borrowed};
}

void tree_add_outsider(pid_t pid, int pidfd)
{
    bool borrowed = pidfd >= 0;

    forget_ended(); /* as long as the lock is held they come and go */
    if (!borrowed)
        pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd >= 0)
        remember(pid, pidfd, borrowed);
}

void tree_forget_outsider(pid_t pid)
{
    for (size_t i = outsiders_len; i > 0; i--)
        if (outsiders[i - 1].pid == pid)
            drop(i - 1);
}

void tree_add_user(const struct procid *user)
{
    tree_add_outsider(user->pid, -1);
    if (!procid_is_current(user))
        tree_forget_outsider(user->pid);
}

static bool spares_session;

void tree_spare_session(void)
{
    spares_session = true;
}

static bool is_spared(pid_t pid)
{
    return spares_session && getsid(pid) == getsid(0);
}

/*
 * What descends from an outsider that lives: the number of one that has ended may be another's.
 * Those whom no descriptor is to be had for stay unknown.
 */
static void find_outsiders(struct tree *tree)
{
    tree->root = 0;
    for (size_t i = 0; i < tree->count; i++)
        tree->list[i].ours = false;
    for (size_t i = 0; i < outsiders_len; i++) {
        struct process *process = find(tree, outsiders[i].pid);

        if (process && !has_ended(&outsiders[i]))
            process->ours = process->known = true;
    }
    mark_descendants(tree);
    tree_reserve(); /* they may take all the rest */
    for (size_t i = 0; i < tree->count; i++) {
        struct process *process = &tree->list[i];
        pid_t pid = process->pid;

        if (!process->ours || process->known || is_spared(pid))
            continue;

        int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

        if (pidfd < 0)
            continue;
        /* As in send_signal(). */
        process->known = is_member(tree, tree_parent(pid));
        if (process->known)
            remember(pid, pidfd, false);
        else
            close(pidfd);
    }
    release_reserve();
}

static size_t signal_outsiders(struct tree *tree, int signal)
{
    size_t sent = 0;

    if (outsiders_len == 0)
        return 0;
    find_outsiders(tree);
    /* First those who are found through their parents only. */
    for (size_t i = 0; i < tree->count; i++) {
        const struct process *process = &tree->list[i];

        if (process->ours && !process->known && !is_spared(process->pid) &&
            is_member(tree, tree_parent(process->pid)))
            sent += kill(process->pid, signal) == 0;
    }
    for (size_t i = 0; i < outsiders_len; i++)
        sent += syscall(SYS_pidfd_send_signal, outsiders[i].pidfd, signal, NULL, 0) == 0;
    return sent;
}

static bool outsiders_have_ended(void)
{
    for (size_t i = 0; i < outsiders_len; i++)
        if (!has_ended(&outsiders[i]))
            return false;
    return true;
}

bool tree_outsiders_gone(void)
{
    struct tree tree = {0};

    if (outsiders_len == 0)
        return true;
    forget_ended();
    release_reserve();
    tree.list = list_processes(&tree.count);
    find_outsiders(&tree);
    free(tree.list);
    tree_reserve();
    return outsiders_have_ended();
}

/* ---- all of the tree ---- */

bool tree_visible(void)
{
    char text[16] = "";

    /* That of another pid namespace shows other numbers. */
    return readlink("/proc/self", text, sizeof(text) - 1) > 0 &&
           strtol(text, NULL, 10) == (long)getpid();
}

size_t tree_signal(int signal, pid_t child)
{
    struct tree tree = {.root = getpid()};
    size_t sent = 0;

    forget_ended();
    release_reserve();
    tree.list = list_processes(&tree.count);
    mark_descendants(&tree);
    for (size_t i = 0; i < tree.count; i++)
        if (tree.list[i].ours)
            sent += send_signal(&tree, tree.list[i].pid, signal);
    sent += signal_outsiders(&tree, signal);
    free(tree.list);
    tree_reserve();
    if (sent == 0 && child > 0)
        sent = kill(child, signal) == 0;
    return sent;
}

bool tree_kill(pid_t *child)
{
    pid_t pid;

    tree_signal(SIGKILL, *child);
    do {
        pid = waitpid(-1, NULL, WNOHANG);
        if (pid == *child)
            *child = 0;
    } while (pid > 0 || (pid < 0 && errno == EINTR));
    return pid < 0 && errno == ECHILD && outsiders_have_ended();
}

int64_t tree_kill_pause(unsigned int *round)
{
    unsigned int doublings = *round < 6 ? *round : 6;

    (*round)++;
    return (5 * CLOCK_MS) << doublings;
}
