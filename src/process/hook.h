/*
 * The hook: a command of the user's that is told what happens to the lock.
 *
 *     hook_find()     before anything else: is there such a command?
 *     hook_start()    before the first thread: forks the runner, a process of its own
 *     hook_tell()     any time, never blocks
 *     hook_end()      no more events: waits until the runner has told all of them
 * given hook_release()
 *
 * The runner runs the hook for one event after the other, in their order, each for HOOK_LIMIT at
 * the most; what fails is a warning and nothing else.  It is in a process group of its own, which
 * no terminal signals.  If the keeper dies, the runner finishes what it was told and ends.
 *
 * Where the user wants no hook, all of these do nothing.
 */
#ifndef ZKFLOCK_HOOK_H
#define ZKFLOCK_HOOK_H

#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "process/command.h"

/* How long a hook may run until it is killed with its process group. */
#define HOOK_LIMIT (10 * CLOCK_S)

enum hook_event {
    HOOK_WAITING,  /* the lock is not free */
    HOOK_ACQUIRED, /* the command is about to start */
    HOOK_RELEASED, /* the lock that was acquired is given back */
    HOOK_LOST,     /* instead: it was lost */
    HOOK_SKIPPED,  /* the command need not run */
    HOOK_BUSY,     /* the wait was given up */
};

struct hook {
    const char *text;       /* as the user wrote it; NULL: no hook is wanted */
    struct command command; /* with the event as its last word */
    char *words[6];
    char **event_word; /* where in words the event goes */
    char *script;      /* what the shell runs; NULL: it needs none */
    pid_t pid;         /* the runner's */
    int link;          /* to the runner; -1: there is none */
    unsigned int told; /* a bit for each event */
};

/*
 * Fills in the hook, which then stays where it is.  text is a command to be found as execvp(3)
 * does, or, if it has blanks, a line for /bin/sh; NULL: none.  Returns as command_find() does.
 */
enum exitcode hook_find(struct hook *hook, const char *text);

/*
 * Forks the runner.  All signals have to be blocked.  Hooks get the caller's state as command
 * does, and are told of the lock at lock_path.  Returns 0, or -1 with errno.
 */
int hook_start(struct hook *hook, const struct command *command, const char *lock_path);

/* Each event is told once, however often this is called. */
void hook_tell(struct hook *hook, enum hook_event event);

/* HOOK_ACQUIRED, and by which znode and token: what hooks find in their environment from now on. */
void hook_tell_acquired(struct hook *hook, const char *node, int64_t token);

/*
 * HOOK_RELEASED, and the status of the run, for that hook's environment; only of a lock that was
 * acquired and not lost.
 */
void hook_tell_released(struct hook *hook, int status);

/* Waits for the runner, in bounded time. */
void hook_end(struct hook *hook);

void hook_release(struct hook *hook);

#endif
