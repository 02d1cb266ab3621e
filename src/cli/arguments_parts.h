/*
 * What arguments.c does with the command line: getopt_table.c takes the options of option_table.h
 * as getopt_long(3) does, usage.c prints --help, show_config.c --show-config.
 */
#ifndef ZKFLOCK_ARGUMENTS_PARTS_H
#define ZKFLOCK_ARGUMENTS_PARTS_H

#include "config/option_table.h"

/*
 * Reads the next option by getopt_long(3), which sets optarg and optind, and says on stderr what is
 * wrong unless opterr is 0.  Returns false at the first operand.  *row is NULL after a mistake.
 */
bool getopt_table_next(int argc, char **argv, const struct option_row **row);

/* Prints the text of --help to stdout. */
void usage_print(void);

/*
 * Prints to stdout a section of a config file that comes to the same as *options: of the lock, or
 * of all locks if there is no name.  What is not set, and has no value that a file could hold, is a
 * comment.  Returns 0, or an exit status after a sentence.
 */
int show_config(const struct options *options);

#endif
