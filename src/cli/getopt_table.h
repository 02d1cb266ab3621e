/*
 * The options of option_table.h as getopt_long(3) takes them.
 */
#ifndef ZKFLOCK_GETOPT_TABLE_H
#define ZKFLOCK_GETOPT_TABLE_H

#include "config/option_table.h"

/*
 * Reads the next option by getopt_long(3), which sets optarg and optind, and says on stderr what is
 * wrong unless opterr is 0.  Returns false at the first operand.  *row is NULL after a mistake.
 */
bool getopt_table_next(int argc, char **argv, const struct option_row **row);

#endif
