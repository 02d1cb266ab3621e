#include "process/process.h"

#include <dirent.h>
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

    /* As proc(5) counts them; 7 is the terminal, 9 the flags, 22 the start. */
    char *at = name_end + 3;
    unsigned long long fields[23] = {0};

    for (int i = 4; i <= 22; i++)
        fields[i] = strtoull(at, &at, 10);
    process->parent = (pid_t)fields[4];
    process->terminal = (int)fields[7];
    process->flags = (unsigned int)fields[9];
    process->start = fields[22];
    return true;
}

bool process_has_ended(const struct process *process)
{
    return process->state == 'Z' || process->state == 'X';
}

bool procid_of(pid_t pid, struct procid *id)
{
    struct process process;

    if (!process_read(pid, &process))
        return false;
    *id = (struct procid){.pid = pid, .started = process.start};
    return true;
}

bool procid_is_current(const struct procid *id)
{
    struct procid now;

    return procid_of(id->pid, &now) && now.started == id->started;
}

bool process_is_bare_fork(pid_t pid)
{
    struct process process;

    return process_read(pid, &process) && (process.flags & FORKED_WITHOUT_EXEC);
}

bool process_is_near(pid_t pid)
{
    static const char key[] = "\nNSpid:\t";
    char text[4096];
    const char *numbers;

    if (pid <= 0 || !read_text(pid, "status", text, sizeof(text)))
        return false;
    /* A number for each pid namespace that the process is in, from the one of this /proc on. */
    numbers = strstr(text, key);
    return numbers && numbers[strlen(key) + strspn(numbers + strlen(key), "0123456789")] == '\n';
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

bool process_some_hidden(void)
{
    struct process first;

    return !process_read(1, &first) || is_mounted_hiding();
}

/* ---- children ---- */

typedef void visit_child(pid_t child, void *context);

/* Calls visit for each pid in the file, where each has a blank behind it. */
static bool each_child_of_thread(int threads, const char *thread, visit_child *visit, void *context)
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
                visit(child, context);
                child = 0;
            }
        }
    }
    close(fd);
    return true;
}

/*
 * Calls visit for each child of a process.  The list is exact for the calling process as long as it
 * waits for none of them.  In that of another process, a child that ends meanwhile may hide a
 * second one.  Returns false if the list cannot be read.
 */
static bool each_child(pid_t pid, visit_child *visit, void *context)
{
    char path[32];
    bool all = true;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);

    DIR *threads = opendir(path);

    if (!threads)
        return false;
    for (const struct dirent *entry = readdir(threads); entry; entry = readdir(threads))
        if (entry->d_name[0] != '.')
            all = each_child_of_thread(dirfd(threads), entry->d_name, visit, context) && all;
    closedir(threads);
    return all;
}

static void visit_nothing(pid_t child, void *context)
{
    (void)child;
    (void)context;
}

bool process_children_listed(void)
{
    return each_child(getpid(), visit_nothing, NULL);
}

struct search {
    pid_t pid;
    bool found;
};

static void compare(pid_t child, void *context)
{
    struct search *search = context;

    search->found = search->found || child == search->pid;
}

bool process_is_child(pid_t pid, pid_t parent)
{
    struct search search = {.pid = pid};

    each_child(parent, compare, &search);
    return search.found;
}

static void kill_child(pid_t child, void *context)
{
    (void)context;
    kill(child, SIGKILL);
}

void process_kill_children(void)
{
    each_child(getpid(), kill_child, NULL);
}

/* ---- lists ---- */

/* While a list grows, its first items are in order, and may be searched. */
struct growth {
    struct process_list *list;
    size_t sorted;
    size_t size;
    pid_t parent;
};

static int by_pid(const void *a, const void *b)
{
    const struct process *x = a;
    const struct process *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct process *find(const struct process_list *list, size_t len, pid_t pid)
{
    const struct process key = {.pid = pid};

    return len ? bsearch(&key, list->items, len, sizeof(key), by_pid) : NULL;
}

struct process *process_list_find(const struct process_list *list, pid_t pid)
{
    return find(list, list->len, pid);
}

static void add(struct growth *growth, struct process process)
{
    struct process_list *list = growth->list;

    if (list->len >= growth->size) {
        size_t size = list->len ? 2 * list->len : 256;
        struct process *longer = reallocarray(list->items, size, sizeof(list->items[0]));

        if (!longer)
            return;
        list->items = longer;
        growth->size = size;
    }
    list->items[list->len++] = process;
}

static void add_child(pid_t child, void *context)
{
    struct growth *growth = context;

    if (!find(growth->list, growth->sorted, child))
        add(growth, (struct process){.pid = child, .parent = growth->parent, .listed = true});
}

static void sort(struct growth *growth)
{
    struct process_list *list = growth->list;

    if (list->len > growth->sorted)
        qsort(list->items, list->len, sizeof(list->items[0]), by_pid);
    growth->sorted = list->len;
}

static void add_seen(struct growth *growth)
{
    DIR *proc = opendir("/proc");
    struct process process;

    if (!proc)
        return;
    for (const struct dirent *entry = readdir(proc); entry; entry = readdir(proc)) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (pid > 0 && !find(growth->list, growth->sorted, pid) && process_read(pid, &process))
            add(growth, process);
    }
    closedir(proc);
}

void process_list_fill(struct process_list *list)
{
    struct growth growth = {.list = list, .parent = getpid()};

    *list = (struct process_list){0};
    each_child(growth.parent, add_child, &growth);
    sort(&growth);
    add_seen(&growth);
    sort(&growth);
}

void process_list_add_hidden(struct process_list *list)
{
    struct growth growth = {.list = list, .sorted = list->len, .size = list->len};

    for (size_t i = 0; i < growth.sorted; i++) {
        growth.parent = list->items[i].pid;
        if (list->items[i].ours)
            each_child(growth.parent, add_child, &growth);
    }
    for (size_t i = growth.sorted; i < list->len; i++)
        list->items[i].ours = true;
    sort(&growth);
}

void process_list_release(struct process_list *list)
{
    free(list->items);
    *list = (struct process_list){0};
}
