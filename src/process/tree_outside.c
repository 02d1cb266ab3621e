/*
 * The outsiders of a tree: see tree_add_outsider() and tree_add_caller().
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/tree_state.h"

/* A process that was added, or a descendant of one that was seen once. */
struct outsider {
    struct procid id;
    int pidfd;   /* -1: there are no pidfds, or no descriptors, and id identifies it */
    bool caller; /* of tree_add_caller(): the pidfd is not to be closed */
    /*
     * A guard of another zkflock is never signalled, nor waited for: when its keeper is killed it
     * ends its own tree, and itself.  It may even wait for the end of this process, as one does
     * that this process descends from, or that has the same outsider.  But what descends from it
     * counts.
     */
    bool guard;
};

static struct outsider *outsiders;
static size_t outsiders_len;

static bool has_ended(const struct outsider *outsider)
{
    struct pollfd end = {.fd = outsider->pidfd, .events = POLLIN};
    struct process now;

    if (outsider->pidfd >= 0)
        return poll(&end, 1, 0) > 0;
    /* It may be hidden, or no descriptor be left to read of it. */
    if (!process_read(outsider->id.pid, &now))
        return kill(outsider->id.pid, 0) < 0 && errno == ESRCH;
    return now.start != outsider->id.started || process_has_ended(&now);
}

static void release(const struct outsider *outsider)
{
    if (!outsider->caller && outsider->pidfd >= 0)
        close(outsider->pidfd);
}

static void drop(size_t i)
{
    release(&outsiders[i]);
    outsiders[i] = outsiders[--outsiders_len];
}

void tree_forget_ended(void)
{
    for (size_t i = outsiders_len; i > 0; i--)
        if (has_ended(&outsiders[i - 1]))
            drop(i - 1);
}

static bool add(const struct outsider *outsider)
{
    struct outsider *longer = reallocarray(outsiders, outsiders_len + 1, sizeof(outsiders[0]));

    if (!longer)
        return false;
    outsiders = longer;
    outsiders[outsiders_len++] = *outsider;
    return true;
}

bool tree_add_caller(const struct procid *id, int pidfd)
{
    const struct outsider caller = {.id = *id, .pidfd = pidfd, .caller = true};

    return add(&caller);
}

bool tree_add_outsider(const struct procid *id)
{
    struct outsider outsider = {.id = *id};

    tree_forget_ended(); /* while the lock is held many may come and go */
    outsider.pidfd = (int)syscall(SYS_pidfd_open, id->pid, 0);
    /* The pidfd means one process from now on: make sure that it is the right one. */
    if (procid_is_current(id) && add(&outsider))
        return true;
    release(&outsider);
    return false;
}

void tree_spare_outsider(const struct procid *id)
{
    for (size_t i = 0; i < outsiders_len; i++) {
        if (outsiders[i].caller || !procid_equal(&outsiders[i].id, id))
            continue;
        drop(i);
        return;
    }
}

void tree_forget_caller(void)
{
    for (size_t i = outsiders_len; i > 0; i--)
        if (outsiders[i - 1].caller)
            drop(i - 1);
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
 * Marks the living outsiders, and their descendants.  One that has ended is left out, since another
 * process may have its number.
 */
static void mark_outsiders(struct tree *tree)
{
    tree->root = 0;
    for (size_t i = 0; i < tree->all.len; i++)
        tree->all.items[i].ours = false;
    for (size_t i = 0; i < outsiders_len; i++) {
        struct process *process = process_list_find(&tree->all, outsiders[i].id.pid);

        if (process && !has_ended(&outsiders[i]))
            process->ours = process->known = true;
    }
    tree_mark_all(tree);
}

/* Makes an outsider of a marked descendant.  pidfd: to be closed with it; -1: there is none. */
static void remember(struct process *process, int pidfd)
{
    const struct outsider outsider = {.id = {process->pid, process->start},
                                      .pidfd = pidfd,
                                      .guard = process_is_like(process->pid, TREE_GUARD_NAME)};

    process->known = add(&outsider);
    if (!process->known)
        release(&outsider);
}

static bool is_unknown(const struct process *process)
{
    return process->ours && !process->known && !is_spared(process->pid);
}

/* Makes outsiders of the marked descendants. */
static void remember_descendants(struct tree *tree)
{
    int pidfd;

    tree_reserve(); /* the pidfds below may take all other descriptors */
    for (size_t i = 0; i < tree->all.len; i++)
        if (is_unknown(&tree->all.items[i]) && tree_pin(tree, &tree->all.items[i], &pidfd))
            remember(&tree->all.items[i], pidfd);
    tree_release_reserve();
    for (size_t i = 0; i < tree->all.len; i++)
        if (is_unknown(&tree->all.items[i]) && tree_still_has(tree, &tree->all.items[i]))
            remember(&tree->all.items[i], -1);
}

size_t tree_signal_outsiders(struct tree *tree, int signal, bool remember)
{
    size_t sent = 0;

    if (outsiders_len == 0)
        return 0;
    mark_outsiders(tree);
    if (remember)
        remember_descendants(tree);
    /* First those that are no outsiders: they can be found only while their parents live. */
    for (size_t i = 0; i < tree->all.len; i++) {
        const struct process *process = &tree->all.items[i];

        if (is_unknown(process) && tree_still_has(tree, process))
            sent += kill(process->pid, process_spare(process->pid, TREE_GUARD_NAME, signal)) == 0;
    }
    for (size_t i = 0; i < outsiders_len; i++)
        if (!has_ended(&outsiders[i]))
            sent += tree_signal_one(outsiders[i].pidfd, outsiders[i].id.pid,
                                    outsiders[i].guard ? SIGCONT : signal);
    return sent;
}

pid_t tree_outsider_left(void)
{
    for (size_t i = 0; i < outsiders_len; i++)
        if (!outsiders[i].guard && !has_ended(&outsiders[i]))
            return outsiders[i].id.pid;
    return 0;
}

bool tree_outsiders_gone(void)
{
    struct tree tree = {0};

    if (outsiders_len == 0)
        return true;
    tree_forget_ended();
    tree_release_reserve();
    process_list_fill(&tree.all);
    mark_outsiders(&tree);
    remember_descendants(&tree);
    free(tree.all.items);
    tree_reserve();
    return tree_outsider_left() == 0;
}
