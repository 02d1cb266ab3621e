/*
 * --hold and --unlock: zkflock holds the lock not for a command, but for a process that already
 * runs, the caller, such as a script.  zkflock returns when the lock is held.  Keeper and guard
 * stay behind in a session of their own until the caller ends or gives the lock back, by --unlock.
 */
#ifndef ZKFLOCK_HOLD_H
#define ZKFLOCK_HOLD_H

#include <sys/types.h>

#include "config/options.h"
#include "process/front.h"
#include "process/process.h"

struct hold {
    struct procid caller;
    int caller_fd;    /* a pidfd of the caller */
    char *command[2]; /* how messages name the caller, in place of a command's argv */
    char name[32];
    char *exported; /* see environment_exported(); to be freed */
};

/*
 * Finds the caller: the process pid, or, with pid 0, the parent, if that has certainly called
 * zkflock and will go on.  Returns 0, or the status to exit with after a message.
 */
int hold_start(struct hold *hold, pid_t pid);

/* The same for this process itself, which is about to become a command: --no-fork. */
int hold_start_own(struct hold *hold);

/*
 * Closes all descriptors that the keeper does not need, so that nobody waits for their end; stdout
 * stays until helper_detach_output().  To be called in the keeper, before anything else is opened.
 */
void hold_detach(const struct hold *hold, const struct front *front);

/*
 * Gives back the lock of the options, of several holds the latest, that is held for the process of
 * --for, or else for the nearest process around this one that it is held for.  With -z, only a hold
 * with the same -z text counts.  Returns the status to exit with, after a message unless it is 0.
 */
int hold_unlock(const struct options *options);

#endif
