/*
 * The command line, read together with the environment and the config files.
 */
#ifndef ZKFLOCK_ARGUMENTS_H
#define ZKFLOCK_ARGUMENTS_H

#include "config/options.h"

/*
 * Reads argv, the environment and the config files.  After a mistake, which it reports on stderr,
 * it returns the exit status.  *done is set if it has done what was asked for: --help, --version,
 * --show-config.  Call options_release() in any case.
 */
int arguments_parse(struct options *options, int argc, char **argv, bool *done);

#endif
