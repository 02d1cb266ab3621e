#include "nesting/holds.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "nesting/reentry_wire.h"
#include "nesting/socket_owner.h"
#include "process/tree.h"

/* The flag of a listener in /proc/net/unix; __SO_ACCEPTCON in Linux' include/linux/net.h. */
#define ACCEPTS_CONNECTIONS 0x10000

#define LINE_SIZE 512

/* A lock that is held for a process, as its socket's name tells. */
struct holding {
    enum reentry_holder kind;
    struct procid holder;
    uint64_t since;
    uint32_t inode;
    bool crowded; /* it had no room for another connection */
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
    snprintf(hold->name, sizeof(hold->name), "%s", name);
    return true;
}

/*
 * Finds the next listening socket of a zkflock's name, or of one that looks like it, in
 * /proc/net/unix: "ADDRESS: REFERENCES PROTOCOL FLAGS TYPE STATE INODE NAME".  Connections have the
 * name of their listener.  Returns the name behind the prefix, in line; NULL: there are no more.
 */
static const char *next_listener(FILE *sockets, char line[LINE_SIZE], uint32_t *inode)
{
    while (sockets && fgets(line, LINE_SIZE, sockets)) {
        const char *name = strstr(line, "@" WIRE_PREFIX);
        uint32_t flags;

        line[strcspn(line, "\n")] = '\0';
        /* NOLINTNEXTLINE(cert-err34-c) */
        if (name && sscanf(line, "%*s %*s %*s %" SCNx32 " %*s %*s %" SCNu32, &flags, inode) == 2 &&
            flags & ACCEPTS_CONNECTIONS)
            return name + strlen("@" WIRE_PREFIX);
    }
    return NULL;
}

static FILE *open_sockets(void)
{
    return fopen("/proc/net/unix", "re"); /* it lists abstract ones too */
}

static void list_all(struct list *list)
{
    FILE *sockets = open_sockets();
    struct holding hold = {0};
    char line[LINE_SIZE];
    const char *name;

    while ((name = next_listener(sockets, line, &hold.inode))) {
        if (!parse_name(name, &hold))
            continue;
        list->items = xreallocarray(list->items, list->len + 1, sizeof(list->items[0]));
        list->items[list->len++] = hold;
    }
    if (sockets)
        fclose(sockets);
    if (list->len > 0)
        qsort(list->items, list->len, sizeof(list->items[0]), by_age);
}

/* See socket_owner(). */
static bool owner_of(uint32_t inode, const char *name, uid_t *uid)
{
    char whole[sizeof(WIRE_PREFIX) + AROUND_NAME_SIZE];

    snprintf(whole, sizeof(whole), WIRE_PREFIX "%s", name);
    return socket_owner(inode, whole, uid);
}

/*
 * Returns whether the one who listens may be the keeper.  Any user may listen by any name, but is
 * not the parent of a guard above this process.  The pid of one in another pid namespace is 0, as
 * is that of the parent of process 1.
 */
static bool may_be_keeper(const struct ucred *listener, const struct holding *hold, pid_t parent)
{
    return listener->uid == geteuid() ||
           (hold->kind == REENTRY_COMMAND && listener->pid > 0 && listener->pid == parent);
}

/*
 * The same by who has made the socket, which the kernel tells without a connection, and may not
 * tell: any user may make thousands of sockets, or some that are crowded, and neither may take up
 * the time.
 */
static bool owner_may_be_keeper(const struct holding *hold, pid_t parent)
{
    uid_t owner;
    uid_t keeper;

    if (!owner_of(hold->inode, hold->name, &owner) || owner == geteuid())
        return true;
    return hold->kind == REENTRY_COMMAND && process_user(parent, &keeper) && owner == keeper;
}

static bool is_worth_asking(struct holding *hold, pid_t parent)
{
    struct ucred listener;

    if (!owner_may_be_keeper(hold, parent))
        return false;
    if (wire_look(hold->name, &listener))
        return may_be_keeper(&listener, hold, parent);
    hold->crowded = errno == EAGAIN;
    return false;
}

static bool ask_one(const struct holding *hold, pid_t parent, int64_t deadline, holds_ask *ask,
                    void *context)
{
    int fd = wire_connect(hold->name, deadline);
    bool found = false;

    if (fd < 0)
        return false; /* it has ended */

    struct ucred listener = wire_credentials(fd);
    bool own = wire_is_own(fd);

    if (may_be_keeper(&listener, hold, parent) && (!own || wire_is_near(fd)))
        found = ask(fd, hold->kind, own, hold->name, context);
    if (own)
        close(fd);
    else
        wire_close_foreign(&fd, 1);
    return found;
}

static bool ask_all(const struct list *list, pid_t pid, pid_t parent, bool crowded,
                    int64_t deadline, holds_ask *ask, void *context)
{
    struct procid holder;
    bool found = false;

    if (!procid_of(pid, &holder))
        return false;
    for (size_t i = 0; i < list->len && !found && clock_now() < deadline; i++) {
        struct holding *hold = &list->items[i];

        if (procid_equal(&hold->holder, &holder) &&
            (crowded ? hold->crowded : is_worth_asking(hold, parent)))
            found = ask_one(hold, parent, deadline, ask, context);
    }
    return found;
}

/* Returns the process for which the one that was looked for holds; 0: it was not found. */
static pid_t walk(const struct list *list, pid_t caller, bool crowded, int64_t deadline,
                  holds_ask *ask, void *context)
{
    pid_t pid = caller ? caller : getpid();

    /* Begins with this process: a shell may execute its last command in its own place. */
    while (pid > 0) {
        pid_t parent = tree_parent(pid);

        if (ask_all(list, pid, parent, crowded, deadline, ask, context))
            return pid;
        pid = caller ? 0 : parent;
    }
    return 0;
}

static bool any_crowded(const struct list *list)
{
    for (size_t i = 0; i < list->len; i++)
        if (list->items[i].crowded)
            return true;
    return false;
}

pid_t holds_find(pid_t caller, int64_t deadline, holds_ask *ask, void *context)
{
    struct list list = {0};
    pid_t found;

    list_all(&list);
    found = walk(&list, caller, false, deadline, ask, context);
    if (!found && any_crowded(&list))
        found = walk(&list, caller, true, deadline, ask, context);
    free(list.items);
    return found;
}

bool holds_is_foreign(const char *name)
{
    FILE *sockets = open_sockets();
    char line[LINE_SIZE];
    const char *listener;
    uint32_t inode;
    bool foreign = false;
    bool own = false;

    while (!own && (listener = next_listener(sockets, line, &inode))) {
        uid_t owner = (uid_t)-1;

        if (strcmp(listener, name) != 0)
            continue;
        own = !owner_of(inode, name, &owner) || owner == geteuid();
        foreign = foreign || owner != (uid_t)-1;
    }
    if (sockets)
        fclose(sockets);
    return foreign && !own;
}
