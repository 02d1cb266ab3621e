#include "holds.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reentry_wire.h"
#include "tree.h"
#include "xalloc.h"

/* How many can begin for one process at the same moment. */
#define TRIES 1000

/* A hold for a process, which may have several: the later one has the higher number. */
struct numbered {
    pid_t pid;
    unsigned int number;
};

struct list {
    struct numbered *items;
    size_t len;
};

/* Containers may share their sockets' names, and each have a process 7. */
static unsigned long pid_namespace(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 ? (unsigned long)st.st_ino : 0;
}

static void make_name(pid_t caller, unsigned int number, char name[REENTRY_NAME_SIZE])
{
    snprintf(name, REENTRY_NAME_SIZE, "hold-%lx-%d-%u", pid_namespace(), (int)caller, number);
}

static void list_all(struct list *list)
{
    FILE *sockets = fopen("/proc/net/unix", "re"); /* abstract ones too */
    unsigned long own = pid_namespace();
    char line[512];

    while (sockets && fgets(line, sizeof(line), sockets)) {
        const char *name = strrchr(line, '@');
        unsigned long namespace;
        unsigned int number;
        int pid;

        /* What does not fit a number is no name of ours.  NOLINTNEXTLINE(cert-err34-c) */
        if (!name || sscanf(name, "@zkflock-hold-%lx-%d-%u", &namespace, &pid, &number) != 3 ||
            namespace != own)
            continue;
        list->items = xreallocarray(list->items, list->len + 1, sizeof(list->items[0]));
        list->items[list->len++] = (struct numbered){.pid = pid, .number = number};
    }
    if (sockets)
        fclose(sockets);
}

/* The latest of that process whose number is below *limit, which becomes its number. */
static bool latest_below(const struct list *list, pid_t pid, int64_t *limit)
{
    int64_t latest = -1;

    for (size_t i = 0; i < list->len; i++) {
        const struct numbered *item = &list->items[i];

        if (item->pid == pid && item->number > latest && item->number < *limit)
            latest = item->number;
    }
    *limit = latest;
    return latest >= 0;
}

int holds_listen(pid_t caller, char name[REENTRY_NAME_SIZE])
{
    struct list list = {0};
    int64_t latest = INT64_MAX;
    int fd = -1;

    list_all(&list);
    latest_below(&list, caller, &latest);
    free(list.items);
    /* Another one may take a number at this moment. */
    for (int i = 1; i <= TRIES && fd < 0; i++) {
        make_name(caller, (unsigned int)(latest + i), name);
        fd = wire_listen(name);
        if (fd < 0 && errno != EADDRINUSE)
            break;
    }
    return fd;
}

static bool ask_all(const struct list *list, pid_t pid, holds_ask *ask, void *context)
{
    int64_t number = INT64_MAX;
    bool found = false;

    while (!found && latest_below(list, pid, &number)) {
        char name[REENTRY_NAME_SIZE];
        int fd;

        make_name(pid, (unsigned int)number, name);
        fd = wire_connect(name);
        if (fd < 0)
            continue; /* it has ended, or is another user's */
        found = ask(fd, context);
        close(fd);
    }
    return found;
}

pid_t holds_find(pid_t caller, holds_ask *ask, void *context)
{
    struct list list = {0};
    pid_t pid = caller ? caller : getpid();

    list_all(&list);
    /* From this process on: a shell may have executed its last command in its own place. */
    while (pid > 0 && !ask_all(&list, pid, ask, context))
        pid = caller ? 0 : tree_parent(pid);
    free(list.items);
    return pid > 0 ? pid : 0;
}
