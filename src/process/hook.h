/*
 * The hook: a command that --hook names, which zkflock runs for each event of the lock.
 *
 *     hook_find()       first: checks that the command exists
 *     hook_start()      before the keeper's first thread: forks the runner
 *     hook_tell()       when something happens; never blocks
 *     hook_end()        after the last event: waits until the runner has run the hook for all
 *     hook_release()    frees what hook_find() has allocated
 *
 * The runner, a process of its own, runs the hook for one event after the other, in their order,
 * each for at most HOOK_LIMIT.  A hook that fails causes a warning and nothing else.  The runner
 * has a process group of its own, so that it gets no signal from a terminal.  If the keeper dies,
 * the runner still runs the hook for the events it was told, and ends.
 *
 * Without --hook all of these do nothing.
 */
#ifndef ZKFLOCK_HOOK_H
#define ZKFLOCK_HOOK_H

#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "process/command.h"

/* How long a hook may run; then the runner kills its process group. */
#define HOOK_LIMIT (10 * CLOCK_S)

enum hook_event {
    HOOK_WAITING,  /* the lock is not free */
    HOOK_ACQUIRED, /* the command is about to start */
    HOOK_RELEASED, /* the lock was acquired and is released */
    HOOK_LOST,     /* the lock was acquired and is lost */
    HOOK_SKIPPED,  /* the command need not run */
    HOOK_BUSY,     /* zkflock has given up waiting */
};

struct hook {
    const char *text;       /* as the user wrote it; NULL: there is no hook */
    struct command command; /* its last word is the event */
    char *words[6];
    char **event_word; /* where in words the event goes */
    char *script;      /* what the shell runs; NULL: the command needs no shell */
    pid_t pid;         /* the runner's */
    int link;          /* to the runner; -1: there is none */
    unsigned int told; /* a bit for each event that the runner was told */
};

/*
 * Fills in *hook, which must not be moved afterwards.  text is a command, found as execvp(3) finds
 * it, or, if it has blanks, a line for /bin/sh; NULL: there is no hook.  Returns as command_find().
 */
enum exitcode hook_find(struct hook *hook, const char *text);

/*
 * Forks the runner.  All signals have to be blocked.  Hooks inherit from the caller what command
 * does, and find lock_path in their environment.  Returns 0, or -1 with errno.
 */
int hook_start(struct hook *hook, const struct command *command, const char *lock_path);

/* Tells the runner of an event, unless it was told of that one before. */
void hook_tell(struct hook *hook, enum hook_event event);

/* Tells of HOOK_ACQUIRED.  From now on hooks find the znode and the token in their environment. */
void hook_tell_acquired(struct hook *hook, const char *node, int64_t token);

/*
 * Tells of HOOK_RELEASED, if the lock was acquired and not lost.  That hook finds the status of the
 * run in its environment.
 */
void hook_tell_released(struct hook *hook, int status);

/* Waits for the runner, in bounded time. */
void hook_end(struct hook *hook);

void hook_release(struct hook *hook);

#endif
