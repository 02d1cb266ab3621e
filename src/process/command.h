/*
 * The command: zkflock finds it before it acquires the lock, and starts it when the lock is held.
 */
#ifndef ZKFLOCK_COMMAND_H
#define ZKFLOCK_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/exitcode.h"

/* The parts of the caller's state that zkflock changes for itself and restores for the command. */
struct command_inheritance {
    sigset_t mask;
    bool ignores_child;  /* the caller ignored SIGCHLD */
    pid_t process_group; /* 0: it is of another pid namespace, and has no number in this one */
    bool leads_group;    /* the command gets a group of its own instead */
};

struct command {
    const struct hold *hold; /* --hold: nothing is executed; --no-fork; else NULL */
    bool in_place;           /* --no-fork: the front becomes the command */
    const char *role;        /* what messages call it: "command", "hook" */
    char *const *argv;
    char *file; /* the file to execute; to be freed */
    struct command_inheritance inherited;
};

/*
 * Finds argv[0] as execvp(3) would, and fills in command->file.  Returns 0; EXITCODE_NOTFOUND,
 * EXITCODE_NOEXEC or EXITCODE_OSERR after a message.
 */
enum exitcode command_find(struct command *command);

/*
 * Restores the caller's signals and executes the command in this process.  Returns the status to
 * exit with after a message: the command cannot be executed.
 */
enum exitcode command_replace(const struct command *command);

/* Tells that the command cannot be executed, with errno, and returns the status to exit with. */
enum exitcode command_not_executed(const struct command *command, int error);

/*
 * To be called in a fresh child of a process with one thread: restores the caller's state and
 * executes the command, which is killed when its parent dies.  parent is the parent's pid.  failure
 * is a pipe that closes on exec; if the command cannot be executed, writes errno, an int, to it,
 * and ends the process.  error: an errno because of which it is not executed, or 0.
 */
_Noreturn void command_become(const struct command *command, pid_t parent, int failure, int error);

#endif
