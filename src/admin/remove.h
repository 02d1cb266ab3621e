/*
 * --remove: deletes a lock that nobody uses.
 */
#ifndef ZKFLOCK_REMOVE_H
#define ZKFLOCK_REMOVE_H

#include "config/options.h"

/* Returns the exit status. */
int remove_lock(const struct options *options);

#endif
