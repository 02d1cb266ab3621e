#include "process/tree.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "process/tree_state.h"

/* For how long to kill only children, before looking for other descendants. */
#define CHILDREN_FIRST (10 * CLOCK_MS)

/* How long to wait for killed processes to end, in the first rounds and later. */
#define FIRST_PAUSE (5 * CLOCK_MS)
#define LONGEST_PAUSE (40 * CLOCK_MS)
#define LATER_PAUSE (320 * CLOCK_MS)
#define FIRST_ROUNDS 50

/*
 * For how long KILL spares guards.  One whose keeper was killed ends its own tree, in which there
 * may be outsiders that nobody else knows: the caller of a --hold.  It is done within milliseconds,
 * but a busy machine may not let it begin for a second.  The keeper, if it takes over, begins anew.
 */
#define GUARDS_SPARED (10 * CLOCK_S)

static int64_t killed_since; /* 0: the tree is not being killed */

/* Returns the name of what is not to be killed yet; NULL: there is none any more. */
static const char *spared_name(void)
{
    if (!killed_since)
        killed_since = clock_now();
    return clock_now() < killed_since + GUARDS_SPARED ? TREE_GUARD_NAME : NULL;
}

/*
 * Returns the name of what does not get the signal, for process_spare().  The tree is not being
 * ended unless its members are remembered: then guards are not killed at all.
 */
static const char *spared_by(int signal, bool remember)
{
    if (signal != SIGKILL)
        return NULL;
    return remember ? spared_name() : TREE_GUARD_NAME;
}

static void find_descendants(struct tree *tree)
{
    tree_forget_ended(); /* which may free descriptors */
    tree_release_reserve();
    process_list_fill(&tree->all);
    tree_mark_all(tree);
}

/* ---- signals ---- */

static bool send_signal(const struct tree *tree, const struct process *process, int signal)
{
    int pidfd;
    bool sent;

    /* Nobody else can get the number of an own child until this process has waited for it. */
    if (process->parent == tree->root)
        return kill(process->pid, signal) == 0;
    if (!tree_pin(tree, process, &pidfd))
        return false;
    sent = tree_signal_one(pidfd, process->pid, signal);
    if (pidfd >= 0)
        close(pidfd);
    return sent;
}

/* Returns how many were signalled. */
static size_t signal_all(int signal, bool remember)
{
    struct tree tree = {.root = getpid()};
    const char *spared = spared_by(signal, remember);
    size_t sent = 0;

    find_descendants(&tree);
    for (size_t i = 0; i < tree.all.len; i++) {
        const struct process *process = &tree.all.items[i];

        if (process->ours && !process_has_ended(process))
            sent += send_signal(&tree, process, process_spare(process->pid, spared, signal));
    }
    sent += tree_signal_outsiders(&tree, signal, remember);
    free(tree.all.items);
    tree_reserve();
    return sent;
}

void tree_signal(int signal, pid_t child)
{
    if (signal_all(signal, true) == 0 && child > 0)
        kill(child, signal);
}

void tree_tell(int signal)
{
    signal_all(signal, false);
}

/* ---- the end ---- */

void tree_note_status(struct tree_child *kept, pid_t pid, int wait_status)
{
    if (!kept || kept->reaped || pid != kept->pid)
        return;
    kept->reaped = true;
    kept->wait_status = wait_status;
}

/* Returns whether there are no children any more. */
static bool reap(pid_t *child, struct tree_child *kept)
{
    int status;
    pid_t pid;

    do {
        pid = waitpid(-1, &status, WNOHANG);
        if (pid > 0)
            tree_note_status(kept, pid, status);
        if (pid == *child)
            *child = 0;
    } while (pid > 0);
    return pid < 0 && errno == ECHILD;
}

/*
 * Kills children, and the orphans that become children when these die: that takes a tenth of the
 * time that it takes to find other descendants and make sure of them.  Returns whether there are no
 * children any more.
 */
static bool kill_children(pid_t *child, struct tree_child *kept)
{
    int64_t end = clock_now() + CHILDREN_FIRST;
    bool childless;

    tree_release_reserve();
    do {
        process_kill_children(spared_name());
        childless = reap(child, kept);
    } while (!childless && clock_now() < end && poll(NULL, 0, 1) == 0);
    tree_reserve();
    return childless;
}

bool tree_kill(pid_t *child, struct tree_child *kept)
{
    if (!kill_children(child, kept) || tree_outsider_left())
        tree_signal(SIGKILL, *child);
    /* Only if none is left that is known are all processes looked at once more. */
    return reap(child, kept) && tree_outsider_left() == 0 && tree_outsiders_gone();
}

int64_t tree_kill_pause(unsigned int *round)
{
    unsigned int done = (*round)++;

    if (done >= FIRST_ROUNDS)
        return LATER_PAUSE;
    return done < 3 ? FIRST_PAUSE << done : LONGEST_PAUSE;
}

/* Returns a descendant that was killed and has not ended; 0: there is none. */
static pid_t descendant_left(void)
{
    struct tree tree = {.root = getpid()};
    const char *spared = spared_name();
    pid_t survivor = 0;

    find_descendants(&tree);
    for (size_t i = 0; i < tree.all.len && !survivor; i++) {
        struct process *process = &tree.all.items[i];

        if (process->ours && !process_is_like(process->pid, spared) &&
            !(process_read(process->pid, process) && process_has_ended(process)))
            survivor = process->pid;
    }
    free(tree.all.items);
    tree_reserve();
    return survivor;
}

bool tree_say_survivor(const char *command, const char *lock, bool lease_over)
{
    pid_t descendant = descendant_left();
    pid_t pid = descendant ? descendant : tree_outsider_left();
    char path[32];
    struct stat st;
    char owner[32] = "another user";

    if (pid == 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    if (stat(path, &st) == 0)
        snprintf(owner, sizeof(owner), "uid %u", (unsigned int)st.st_uid);
    log_error("process %d (%s)%s%s%s cannot be killed: %s %s", (int)pid, owner,
              descendant ? ", which " : "", descendant ? command : "",
              descendant ? " has started," : "", lock,
              lease_over ? "may have its next holder now, at the same time"
                         : "is not released before it has ended");
    return true;
}
