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

/*
 * Prints what a shell makes its environment from.  held is the name to be added to ZKFLOCK_HELD, or
 * empty.  Returns whether that was possible; if not, it was told.
 */
bool hold_export(const char *lock, const char *node, int64_t token, const char *held);

/*
 * Prints what takes that environment back from a shell which has it: name is the one that was added
 * to ZKFLOCK_HELD.  Returns whether that was possible; if not, it was told.
 */
bool hold_export_end(const char *lock, const char *name);

/*
 * In its place, what has a shell's eval fail with that status: of nothing at all eval makes a
 * success.
 */
void hold_export_failure(int status);

#endif
