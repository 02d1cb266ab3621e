/*
 * --unlock: asks the keeper that --hold has left in the background to give its lock back.
 */
#ifndef ZKFLOCK_UNLOCK_H
#define ZKFLOCK_UNLOCK_H

#include <sys/types.h>

/*
 * Gives back the lock at that path, the one taken last, which is held for the process caller; 0:
 * for the nearest process around this one that it is held for.  Returns the status to exit with,
 * after a message unless it is 0.
 */
int unlock(const char *path, pid_t caller);

#endif
