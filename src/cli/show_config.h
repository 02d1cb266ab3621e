/*
 * --show-config: the settings in effect, and where each stands.
 */
#ifndef ZKFLOCK_SHOW_CONFIG_H
#define ZKFLOCK_SHOW_CONFIG_H

#include "config/options.h"

/*
 * Prints to stdout a section of a config file that comes to the same as *options: of the lock, or
 * of all locks if there is no name.  What is not set, and has no value that a file could hold, is a
 * comment.  Returns 0, or an exit status after a sentence.
 */
int show_config(const struct options *options);

#endif
