#include "unlock.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "exitcode.h"
#include "log.h"
#include "reentry_wire.h"
#include "tree.h"

/* To give a lock back takes a keeper a few seconds at the most, unless the ensemble is gone. */
#define PATIENCE (30 * CLOCK_S)

static bool ask(const char *name, const char *path)
{
    int fd = wire_connect(name);
    bool done = false;
    char *node = NULL;
    int64_t token;

    if (fd < 0)
        return false; /* it has just ended */
    if (wire_ask_unlock(fd, path))
        done = wire_read_answer(fd, clock_now() + PATIENCE, &node, &token) == REENTRY_UNLOCKED;
    free(node);
    close(fd);
    return done;
}

/* The latest first. */
static bool unlock_for(pid_t caller, const char *path)
{
    char name[REENTRY_NAME_SIZE];

    for (unsigned int i = wire_count_holds(caller); i > 0; i--)
        if (ask(wire_hold_name(caller, i - 1, name), path))
            return true;
    return false;
}

int unlock(const char *path, pid_t caller)
{
    if (caller && unlock_for(caller, path))
        return 0;
    /* A shell may have executed its last command in its own place. */
    for (pid_t pid = getpid(); !caller && pid > 0; pid = tree_parent(pid))
        if (unlock_for(pid, path))
            return 0;
    log_notice("%s is not held for %s: there is nothing to unlock", path,
               caller ? "that process" : "this script");
    return EXITCODE_BUSY;
}
