/*
 * Signals, taken from a descriptor in the keeper's loop.
 */
#ifndef ZKFLOCK_SIGNALS_H
#define ZKFLOCK_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct signals_received {
    int number;
    pid_t sender;
    bool from_terminal;
    bool to_group; /* all of the caller's process group has got it, as it has from a terminal */
};

/*
 * Blocks the signals that zkflock handles, and those that would end it by mistake.  Fills in the
 * mask that was in force, and whether SIGCHLD was ignored, which it no longer is.  To be called
 * before the first thread.  Returns a descriptor for signals_next(), or -1 with errno.
 */
int signals_block(sigset_t *old_mask, bool *ignored_child);

/* Blocks all that can be blocked, for a child that ends when its link does; returns them. */
sigset_t signals_block_all(void);

/* Takes the next signal; returns whether there was one. */
bool signals_next(int fd, struct signals_received *received);

/* Returns whether zkflock passes the signal on to the command. */
bool signals_to_forward(int number);

/* Returns whether the signal ends zkflock while it waits. */
bool signals_end(int number);

/* Returns whether job control stops processes by the signal: TSTP, TTIN, TTOU. */
bool signals_stop(int number);

/* Room for what signals_name() writes. */
#define SIGNALS_NAME_SIZE 24

/* Writes "SIGTERM", or for a real-time signal, which has no name, "signal 34".  Returns buf. */
const char *signals_name(int number, char buf[SIGNALS_NAME_SIZE]);

/* Stops this process by the signal's default action; returns when the process is continued. */
void signals_stop_self(int number);

/*
 * Settles a signal of job control that was raised: stop: it stops this process, unless CONT has
 * come since it was raised; else drops it.
 */
void signals_settle_stop(int number, bool stop);

/* Drops a SIGCHLD that is pending, so that what this process executes does not get it. */
void signals_drop_child(void);

/* Ends this process by the signal, so that its parent sees that. */
void signals_die_of(int number);

/*
 * Stops this process until it is in the foreground of the terminal.  Returns at once if its process
 * group is orphaned, so that nobody could continue it.
 */
void signals_await_foreground(int terminal);

/*
 * at_once: lets signals that end zkflock end it at once, for a write that may block for ever;
 * false: blocks them again.
 */
void signals_let_end(bool at_once);

#endif
