/*
 * Between the keeper's side, front.c, and the front's process, front_process.c.
 */
#ifndef ZKFLOCK_FRONT_PARTS_H
#define ZKFLOCK_FRONT_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "process/command.h"
#include "process/front.h"

/* SIGNAL goes to the keeper, as does the answer to FORSAKE; all others go to the front. */
enum front_message_type {
    MESSAGE_SIGNAL,  /* number: the signal; flag: the caller's process group has got it */
    MESSAGE_GUARD,   /* number: the guard's pid; command: the keeper's */
    MESSAGE_STOP,    /* number: the signal; flag: the keeper stops too; command: what has stopped */
    MESSAGE_BEGIN,   /* the command starts, and has not got the signals until now */
    MESSAGE_FORSAKE, /* answered by the same */
    MESSAGE_END, /* number: the status to end with when the keeper has ended; flag: first restore
                    the terminal's settings */
    MESSAGE_RELEASE, /* number: the status to end with now */
    MESSAGE_BECOME,  /* the command, whose environment came just before, as a packet of text */
};

struct front_message {
    int32_t type; /* enum front_message_type */
    int32_t number;
    int32_t flag;
    int32_t command; /* its pid; 0: none */
};

/* Sends it; returns false if the other side is dead, or has not read for long. */
bool front_say(int link, struct front_message message);

/*
 * Forks, as front_start() says: the caller's child becomes the front, which never returns, and its
 * child the keeper.  signal_fd: as of signals_block(); the front reads it, too.  Returns the link
 * to the front, in the keeper alone; -1 with errno.
 */
int front_split(int signal_fd, const struct command *command, front_last_words *last_words);

#endif
