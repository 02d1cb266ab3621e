#include "nesting/holds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "nesting/reentry_wire.h"
#include "process/tree.h"

/* A lock that is held for a process, as its socket's name tells. */
struct holding {
    enum reentry_holder kind;
    struct procid holder;
    uint64_t since;
    char name[AROUND_NAME_SIZE];
};

struct list {
    struct holding *items;
    size_t len;
};

/* Two containers may share the names of sockets, and each may have a process 7. */
static unsigned long pid_namespace(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 ? (unsigned long)st.st_ino : 0;
}

static const char *const kinds[] = {[REENTRY_CALLER] = "hold", [REENTRY_COMMAND] = "run"};

int holds_listen(enum reentry_holder kind, const struct procid *holder, char name[AROUND_NAME_SIZE])
{
    uint32_t random[3];

    if (getrandom(random, sizeof(random), 0) < 0)
        memset(random, 0, sizeof(random)); /* listening fails if the name is taken */
    snprintf(name, AROUND_NAME_SIZE, "%s-%lx-%d-%" PRIx64 "-%" PRIx64 "-%08x%08x%08x", kinds[kind],
             pid_namespace(), (int)holder->pid, holder->started, (uint64_t)clock_now(), random[0],
             random[1], random[2]);
    return wire_listen(name);
}

/* Sorts the latest first. */
static int by_age(const void *a, const void *b)
{
    const struct holding *x = a;
    const struct holding *y = b;

    return (x->since < y->since) - (x->since > y->since);
}

/* Returns false unless the socket is of a lock that is held in this pid namespace. */
static bool parse_name(const char *name, struct holding *hold)
{
    unsigned long namespace;
    char kind[5];
    int pid;
    /* A number out of range gives a name that is not ours.  NOLINTNEXTLINE(cert-err34-c) */
    int found = sscanf(name, "%4[a-z]-%lx-%d-%" SCNx64 "-%" SCNx64 "-", kind, &namespace, &pid,
                       &hold->holder.started, &hold->since);

    if (found != 5 || namespace != pid_namespace())
        return false;
    hold->kind = strcmp(kind, kinds[REENTRY_COMMAND]) == 0 ? REENTRY_COMMAND : REENTRY_CALLER;
    hold->holder.pid = pid;
    snprintf(hold->name, sizeof(hold->name), "%.*s", (int)strcspn(name, "\n"), name);
    return true;
}

static void list_all(struct list *list)
{
    static const char prefix[] = "@zkflock-";
    FILE *sockets = fopen("/proc/net/unix", "re"); /* it lists abstract ones too */
    char line[512];

    while (sockets && fgets(line, sizeof(line), sockets)) {
        const char *name = strstr(line, prefix);
        struct holding hold;

        if (!name || !parse_name(name + strlen(prefix), &hold))
            continue;
        list->items = xreallocarray(list->items, list->len + 1, sizeof(list->items[0]));
        list->items[list->len++] = hold;
    }
    if (sockets)
        fclose(sockets);
    if (list->len > 0)
        qsort(list->items, list->len, sizeof(list->items[0]), by_age);
}

/*
 * Any user may listen by any name, but is not the parent of a guard above this process.  The pid of
 * one in another pid namespace is 0, as is that of the parent of process 1.
 */
static bool is_keeper_of(int fd, const struct holding *hold)
{
    pid_t pid = wire_credentials(fd).pid;

    return hold->kind == REENTRY_COMMAND && pid > 0 && pid == tree_parent(hold->holder.pid);
}

static bool ask_all(const struct list *list, pid_t pid, int64_t deadline, holds_ask *ask,
                    void *context)
{
    struct procid holder;
    bool found = false;

    if (!procid_of(pid, &holder))
        return false;
    for (size_t i = 0; i < list->len && !found; i++) {
        const struct holding *hold = &list->items[i];

        if (!procid_equal(&hold->holder, &holder))
            continue;

        int fd = wire_connect(hold->name, deadline);

        if (fd < 0)
            continue; /* it has ended */

        bool own = wire_is_own(fd);

        if (own ? wire_is_near(fd) : is_keeper_of(fd, hold))
            found = ask(fd, hold->kind, own, hold->name, context);
        if (own)
            close(fd);
        else
            wire_close_foreign(&fd, 1);
    }
    return found;
}

pid_t holds_find(pid_t caller, int64_t deadline, holds_ask *ask, void *context)
{
    struct list list = {0};
    pid_t pid = caller ? caller : getpid();

    list_all(&list);
    /* Begins with this process: a shell may execute its last command in its own place. */
    while (pid > 0 && !ask_all(&list, pid, deadline, ask, context))
        pid = caller ? 0 : tree_parent(pid);
    free(list.items);
    return pid > 0 ? pid : 0;
}
