/*
 * Identifies processes by number and start time: the number alone may mean another process as soon
 * as the first one was reaped.
 */
#ifndef ZKFLOCK_PROCID_H
#define ZKFLOCK_PROCID_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct procid {
    pid_t pid;
    uint64_t started; /* in clock ticks since boot */
};

/* Fills in *id for the process that has this number now.  Returns false if there is none. */
bool procid_of(pid_t pid, struct procid *id);

/* Returns whether the process of that number is still this one. */
bool procid_is_current(const struct procid *id);

/* Returns whether the process was forked and has executed nothing since, like a subshell. */
bool procid_is_bare_fork(pid_t pid);

/* Returns whether the process is in this process's pid namespace, not in one below. */
bool procid_is_near(pid_t pid);

#endif
