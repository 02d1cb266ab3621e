/*
 * --list: who holds which lock, and who waits.
 */
#ifndef ZKFLOCK_LIST_H
#define ZKFLOCK_LIST_H

#include "config/options.h"

/* Prints what the options ask for on stdout; returns the exit status. */
int list(const struct options *options);

#endif
