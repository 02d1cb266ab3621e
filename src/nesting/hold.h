/*
 * --hold: the lock is held for a process that is already there, the caller, as a script is, and not
 * for a command.  Until the lock is held zkflock is waited for as ever; then a keeper and a guard
 * in a session of their own go on without it, until the caller ends or asks for the end.
 */
#ifndef ZKFLOCK_HOLD_H
#define ZKFLOCK_HOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/front.h"
#include "process/procid.h"

struct hold {
    struct procid caller;
    int caller_fd;    /* a pidfd of it */
    char *command[2]; /* what messages call it, in the place of a command's argv */
    char name[32];
    char *exported; /* see environment_exported(); to be freed */
};

/*
 * Finds the caller: pid, or the parent if pid is 0 and the parent is certain to have called zkflock
 * and to go on.  Returns 0, or the status to exit with after a message.
 */
int hold_start(struct hold *hold, pid_t pid);

/*
 * In the keeper, before anything else is opened: keeps of the descriptors of zkflock only what it
 * needs, so that nobody waits for their end.  stdout stays until detach_output().
 */
void hold_detach(const struct hold *hold, const struct front *front);

#endif
