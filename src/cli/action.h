/*
 * The actions, and what each of them does with options that have no effect on it.
 */
#ifndef ZKFLOCK_ACTION_H
#define ZKFLOCK_ACTION_H

#include "config/options.h"

/* Sets the action.  Returns the exit status after a message if another one was asked for before. */
int action_take(struct options *options, enum action action);

/*
 * Refuses the first option, in the order of option_table.h, that was typed and has no effect on the
 * action; returns the exit status.  Call it before the environment and the config files are read:
 * what they say is meant for runs, and other actions take of it what they need.
 */
int action_check(const struct options *options);

/* Drops what a config file means for commands alone.  Call it once all settings are in effect. */
void action_settle(struct options *options);

#endif
