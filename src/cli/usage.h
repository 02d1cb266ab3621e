/*
 * The text of --help.
 */
#ifndef ZKFLOCK_USAGE_H
#define ZKFLOCK_USAGE_H

/* Prints the text to stdout. */
void usage_print(void);

#endif
