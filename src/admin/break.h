/*
 * --revoke and --break: a holder is asked, or made, to give its lock up.
 */
#ifndef ZKFLOCK_BREAK_H
#define ZKFLOCK_BREAK_H

#include "config/options.h"

/* Each returns the exit status, and says whom it hit. */
int break_ask(const struct options *options);
int break_now(const struct options *options);

#endif
