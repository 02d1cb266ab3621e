/*
 * The command line and the environment, turned into one constant description of what to do.
 */
#ifndef ZKFLOCK_OPTIONS_H
#define ZKFLOCK_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "log.h"
#include "servers.h"

struct options {
    char *lock;             /* the znode path of the lock */
    char **command;         /* argv, ends in NULL */
    char *shell_command[4]; /* what command points to under -c */
    int64_t wait;           /* ns; CLOCK_NEVER: as long as it takes; 0: not at all */
    int conflict_status;    /* the exit status for busy */
    struct servers *servers;
    int64_t connect_timeout; /* ns */
    int session_timeout_ms;
    enum log_level log_level;
};

/*
 * Reads argv and the environment.  On a mistake says so on stderr and returns the exit status;
 * *done is set for --help and --version, which print to stdout and return 0.  options_release()
 * is to be called in any case.
 */
int options_parse(struct options *options, int argc, char **argv, bool *done);

void options_release(struct options *options);

#endif
