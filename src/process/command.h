/*
 * The command: found before the lock is taken, started when it is held.
 */
#ifndef ZKFLOCK_COMMAND_H
#define ZKFLOCK_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/exitcode.h"

/* What of the caller's state zkflock changes for itself and the command gets back. */
struct command_inheritance {
    sigset_t mask;
    bool ignores_child;  /* SIGCHLD was ignored */
    pid_t process_group; /* 0: it comes from another pid namespace and has no number in this one */
    bool leads_group;    /* instead, it is to lead one of its own */
};

struct command {
    const struct hold *hold; /* what the lock is held for, and nothing is executed; NULL */
    const char *role;        /* what messages call it */
    char *const *argv;
    char *file; /* what is executed */
    struct command_inheritance inherited;
};

/*
 * Finds argv[0] as execvp(3) would.  Returns 0 and command->file, to be freed, or
 * EXITCODE_NOTFOUND or EXITCODE_NOEXEC after a message.
 */
enum exitcode command_find(struct command *command);

/* The status to exit with for a command that could not be executed for this errno. */
enum exitcode command_exec_failure(int error);

/*
 * In a fresh child of a process with one thread: takes the caller's state on and executes the
 * command, which is killed when its parent dies.  parent is the parent's pid.  If it cannot be
 * executed, writes errno, an int, to failure, which closes on exec, and ends the process.
 */
_Noreturn void command_become(const struct command *command, pid_t parent, int failure);

#endif
