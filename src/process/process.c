#include "process/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The bit of the field "flags" in /proc/PID/stat; PF_FORKNOEXEC in Linux' include/linux/sched.h. */
#define FORKED_WITHOUT_EXEC 0x40

/* Reads the beginning of a file below /proc/PID, and ends it with 0; returns false if it cannot. */
static bool read_text(pid_t pid, const char *name, char *text, size_t size)
{
    char path[48];
    ssize_t len;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    len = read(fd, text, size - 1);
    close(fd);
    text[len > 0 ? len : 0] = '\0';
    return len > 0;
}

bool process_read(pid_t pid, struct process *process)
{
    char text[512];

    if (!read_text(pid, "stat", text, sizeof(text)))
        return false;

    /* "pid (name) state parent ...": the name may hold anything, so look for its end. */
    char *name_end = strrchr(text, ')');

    if (!name_end || strlen(name_end) < 4)
        return false;
    *process = (struct process){.pid = pid, .state = name_end[2]};

    /*
     * As proc(5) counts them; 7 is the terminal, 8 its foreground, 9 the flags, 20 how many threads
     * there are, 22 the start.
     */
    char *at = name_end + 3;
    unsigned long long fields[23] = {0};

    for (int i = 4; i <= 22; i++)
        fields[i] = strtoull(at, &at, 10);
    process->parent = (pid_t)fields[4];
    process->terminal = (int)fields[7];
    process->foreground = (pid_t)fields[8];
    process->flags = (unsigned int)fields[9];
    process->threads = (unsigned int)fields[20];
    process->start = fields[22];
    return true;
}

bool process_has_ended(const struct process *process)
{
    return (process->state == 'Z' && process->threads <= 1) || process->state == 'X';
}

bool procid_of(pid_t pid, struct procid *id)
{
    struct process process;

    if (!process_read(pid, &process))
        return false;
    *id = (struct procid){.pid = pid, .started = process.start};
    return true;
}

/* Returns the number in the pidfd's fdinfo; 0: it has none here, -1: the process was reaped. */
static pid_t pid_of_pidfd(int pidfd)
{
    char path[40];
    char line[64];
    int pid = 0;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);

    FILE *info = fopen(path, "re");

    /* NOLINTNEXTLINE(cert-err34-c) */
    while (info && fgets(line, sizeof(line), info) && sscanf(line, "Pid: %d", &pid) != 1)
        continue;
    if (info)
        fclose(info);
    return pid;
}

bool procid_of_pidfd(int pidfd, struct procid *id)
{
    pid_t pid = pid_of_pidfd(pidfd);

    /* Asked once more: the number may have got another process meanwhile. */
    return pid > 0 && procid_of(pid, id) && pid_of_pidfd(pidfd) == pid;
}

bool procid_equal(const struct procid *a, const struct procid *b)
{
    return a->pid == b->pid && a->started == b->started;
}

bool procid_is_current(const struct procid *id)
{
    struct procid now;

    return procid_of(id->pid, &now) && procid_equal(&now, id);
}

bool process_is_bare_fork(pid_t pid)
{
    struct process process;

    return process_read(pid, &process) && (process.flags & FORKED_WITHOUT_EXEC);
}

/* Returns whether /proc is mounted so; mountinfo: "... /proc OPTIONS - proc NAME OPTIONS". */
static bool is_mounted_hiding(void)
{
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t size = 0;
    bool hides = false;

    while (mounts && getline(&line, &size, mounts) > 0)
        if (strstr(line, " /proc "))
            hides = strstr(line, "hidepid=");
    free(line);
    if (mounts)
        fclose(mounts);
    return hides;
}

/* Returns whether a process of the own user is there that /proc does not show. */
static bool is_hidden(pid_t pid)
{
    return kill(pid, 0) == 0 && is_mounted_hiding();
}

/*
 * Takes the line of /proc/PID/status that begins with key; what follows key is to be freed.
 * Returns NULL if there is none, or the process is not shown.
 */
static char *status_line(pid_t pid, const char *key)
{
    char path[32];
    char *line = NULL;
    size_t size = 0;
    bool found = false;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);

    FILE *status = fopen(path, "re");

    while (status && !found && getline(&line, &size, status) > 0)
        found = strncmp(line, key, strlen(key)) == 0;
    if (status)
        fclose(status);
    if (!found) {
        free(line);
        return NULL;
    }
    memmove(line, line + strlen(key), strlen(line + strlen(key)) + 1);
    return line;
}

bool process_is_near(pid_t pid)
{
    char *pids;
    bool near;

    if (pid <= 0)
        return false;
    pids = status_line(pid, "NSpid:\t");
    if (!pids)
        return is_hidden(pid);
    /* A number for each pid namespace that the process is in, from the one of this /proc on. */
    near = pids[strspn(pids, "0123456789")] == '\n';
    free(pids);
    return near;
}

bool process_user(pid_t pid, uid_t *uid)
{
    char *uids = pid > 0 ? status_line(pid, "Uid:\t") : NULL; /* real, effective, ... */
    char *effective = uids ? strchr(uids, '\t') : NULL;

    if (effective)
        *uid = (uid_t)strtoul(effective + 1, NULL, 10);
    free(uids);
    return effective;
}

bool process_some_hidden(void)
{
    struct process first;

    return !process_read(1, &first) || is_mounted_hiding();
}

/* ---- children ---- */

typedef void visit_child(pid_t parent, pid_t child, void *context);

/* Calls visit for each pid in the file, where each has a blank behind it. */
static bool each_child_of_thread(int threads, const char *thread, pid_t parent, visit_child *visit,
                                 void *context)
{
    char path[300];
    char text[4096];
    ssize_t len;
    pid_t child = 0;

    snprintf(path, sizeof(path), "%s/children", thread);

    int fd = openat(threads, path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    while ((len = read(fd, text, sizeof(text))) > 0) {
        for (ssize_t i = 0; i < len; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                child = 10 * child + (text[i] - '0');
            } else if (child) {
                visit(parent, child, context);
                child = 0;
            }
        }
    }
    close(fd);
    return true;
}

/*
 * Calls visit for each child of the parent.  The list is exact for the calling process as long as
 * it waits for none of them.  In that of another process, a child that ends meanwhile may hide a
 * second one.  Returns false if the list cannot be read.
 */
static bool each_child(pid_t parent, visit_child *visit, void *context)
{
    char path[32];
    bool all = true;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)parent);

    DIR *threads = opendir(path);

    if (!threads)
        return false;
    for (const struct dirent *entry = readdir(threads); entry; entry = readdir(threads))
        if (entry->d_name[0] != '.')
            all &= each_child_of_thread(dirfd(threads), entry->d_name, parent, visit, context);
    closedir(threads);
    return all;
}

/* Clears the wanted pid when the child has it. */
static void compare(pid_t parent, pid_t child, void *context)
{
    pid_t *wanted = context;

    (void)parent;
    if (child == *wanted)
        *wanted = 0;
}

bool process_is_child(pid_t pid, pid_t parent)
{
    each_child(parent, compare, &pid);
    return pid == 0;
}

bool process_children_listed(void)
{
    return each_child(getpid(), compare, &(pid_t){0});
}

bool process_is_like(pid_t pid, const char *name)
{
    char comm[32]; /* the kernel cuts it to 15 */
    char title[32];

    if (!name || getpgid(pid) != pid || !read_text(pid, "comm", comm, sizeof(comm)))
        return false;
    comm[strcspn(comm, "\n")] = '\0';
    /* That comes last: it waits for a process that is about to map a file of a dead server. */
    return strcmp(comm, name) == 0 && read_text(pid, "cmdline", title, sizeof(title)) &&
           strncmp(name, title, strlen(title)) == 0;
}

int process_spare(pid_t pid, const char *name, int signal)
{
    return process_is_like(pid, name) ? SIGCONT : signal;
}

static void kill_child(pid_t parent, pid_t child, void *context)
{
    const char *const *spared = context;

    (void)parent;
    kill(child, process_spare(child, *spared, SIGKILL));
}

void process_kill_children(const char *spared)
{
    each_child(getpid(), kill_child, &spared);
}

/* ---- lists ---- */

/* By how many processes the memory of a list grows. */
#define STEP 256

static int by_pid(const void *a, const void *b)
{
    const struct process *x = a;
    const struct process *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

static void sort(struct process_list *list)
{
    if (list->len > list->sorted)
        qsort(list->items, list->len, sizeof(list->items[0]), by_pid);
    list->sorted = list->len;
}

struct process *process_list_find(const struct process_list *list, pid_t pid)
{
    const struct process key = {.pid = pid};

    return list->sorted ? bsearch(&key, list->items, list->sorted, sizeof(key), by_pid) : NULL;
}

static void add(struct process_list *list, struct process process)
{
    if (list->len % STEP == 0) {
        struct process *longer =
            reallocarray(list->items, list->len + STEP, sizeof(list->items[0]));

        if (!longer)
            return;
        list->items = longer;
    }
    list->items[list->len++] = process;
}

static void add_child(pid_t parent, pid_t child, void *context)
{
    struct process_list *list = context;

    if (!process_list_find(list, child))
        add(list, (struct process){.pid = child, .parent = parent, .listed = true, .ours = true});
}

static void add_seen(struct process_list *list)
{
    DIR *proc = opendir("/proc");
    struct process process;

    if (!proc)
        return;
    for (const struct dirent *entry = readdir(proc); entry; entry = readdir(proc)) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (pid > 0 && !process_list_find(list, pid) && process_read(pid, &process))
            add(list, process);
    }
    closedir(proc);
}

void process_list_fill(struct process_list *list)
{
    each_child(getpid(), add_child, list);
    sort(list);
    add_seen(list);
    sort(list);
}

void process_list_add_hidden(struct process_list *list)
{
    for (size_t i = 0; i < list->sorted; i++)
        if (list->items[i].ours)
            each_child(list->items[i].pid, add_child, list);
    sort(list);
}
