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
    bool from_terminal; /* sent by the kernel to the whole process group */
    bool to_group;      /* sent to the command, too, if that is in the caller's process group */
};

/*
 * Blocks every signal that zkflock handles and everything that could end it unasked; gives the mask
 * that was in force and whether SIGCHLD was ignored, which is undone.  To be called before the
 * first thread.  Returns a descriptor for signals_next(), or -1 with errno.
 */
int signals_block(sigset_t *old_mask, bool *ignored_child);

/* Takes the next signal; returns whether there was one. */
bool signals_next(int fd, struct signals_received *received);

/* Whether the command is to get this signal, if it has not got it from the terminal already. */
bool signals_to_forward(int number);

/* Whether the signal ends zkflock while it waits. */
bool signals_end(int number);

/* Whether the signal is one of job control that stops: TSTP, TTIN, TTOU. */
bool signals_stop(int number);

/* Room for what signals_name() writes. */
#define SIGNALS_NAME_SIZE 24

/* "SIGTERM"; of a real-time signal, which has no name, "signal 34".  Returns buf. */
const char *signals_name(int number, char buf[SIGNALS_NAME_SIZE]);

/* Stops this process with that signal, as its default action would; returns when continued. */
void signals_stop_self(int number);

/* Ends this process by that signal, whose parent then sees so. */
void signals_die_of(int number);

/*
 * Stops this process until it is in the foreground of that terminal.  One whose process group is
 * orphaned, so that nobody could continue it, goes on.
 */
void signals_await_foreground(int terminal);

/*
 * Lets signals that end zkflock do so at once, while it writes to who may not read, or not any
 * more.
 */
void signals_let_end(bool at_once);

#endif
