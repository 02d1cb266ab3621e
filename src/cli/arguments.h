/*
 * The command line, read together with the environment and the config files.
 */
#ifndef ZKFLOCK_ARGUMENTS_H
#define ZKFLOCK_ARGUMENTS_H

#include "config/options.h"

/*
 * Reads argv, the environment and the config files.  On a mistake says so on stderr and returns the
 * exit status; *done is set for what prints to stdout and returns 0: --help, --version,
 * --show-config.  options_release() is to be called in any case.
 */
int arguments_parse(struct options *options, int argc, char **argv, bool *done);

#endif
