/*
 * --unlock: asks the keeper that --hold has left in the background to give its lock back.
 */
#ifndef ZKFLOCK_UNLOCK_H
#define ZKFLOCK_UNLOCK_H

#include "config/options.h"

/*
 * Gives back the lock of the options, the one taken last, which is held for the process that --for
 * names, or for the nearest process around this one that it is held for; where -z is given, in that
 * ensemble.  Returns the status to exit with, after a message unless it is 0.
 */
int unlock(const struct options *options);

#endif
