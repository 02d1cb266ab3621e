/*
 * --unlock: asks the keeper that --hold left in the background to release its lock.
 */
#ifndef ZKFLOCK_UNLOCK_H
#define ZKFLOCK_UNLOCK_H

#include "config/options.h"

/*
 * Gives back the lock of the options, of several holds the latest, that is held for the process of
 * --for, or else for the nearest process around this one that it is held for.  With -z, only a hold
 * with the same -z text counts.  Returns the status to exit with, after a message unless it is 0.
 */
int unlock(const struct options *options);

#endif
