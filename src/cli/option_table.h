/*
 * The options as getopt_long(3) takes them.
 */
#ifndef ZKFLOCK_OPTION_TABLE_H
#define ZKFLOCK_OPTION_TABLE_H

#include <getopt.h>

extern const char option_table_short[];
extern const struct option option_table_long[];

/*
 * What messages call an option, to be freed: flock(1)'s own go by their letters.
 */
char *option_table_name(int option);

#endif
