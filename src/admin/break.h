/*
 * --revoke asks the holders of a lock to give it up, --break takes it away from them.
 */
#ifndef ZKFLOCK_BREAK_H
#define ZKFLOCK_BREAK_H

#include "config/options.h"

/* Does which of the two the options say, and says whom it hit; returns the exit status. */
int break_lock(const struct options *options);

#endif
