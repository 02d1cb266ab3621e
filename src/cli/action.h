/*
 * The actions, and on which of them each option has an effect.
 */
#ifndef ZKFLOCK_ACTION_H
#define ZKFLOCK_ACTION_H

#include "config/options.h"

struct action_effect {
    int option;
    int actions;     /* on which it has an effect, 1 << enum action */
    const char *why; /* it has none on the others, as a sentence; NULL: nothing else can be meant */
};

/*
 * A row for every option but those that ask for an action, and -c, -F, -h and -V; ends with one for
 * the option 0.  The program goes by it, and the tests of combinations.
 */
extern const struct action_effect action_effects[];

/* Takes an action.  Returns the exit status after a message if another one was asked for before. */
int action_take(struct options *options, enum action action);

/*
 * Refuses options that were typed and have no effect on the action; returns the exit status.  What
 * the environment and the config files say is meant for runs, and other actions take of it what
 * they need.
 */
int action_check(const struct options *options);

/* Once all settings are in effect: drops what a config file means for commands alone. */
void action_settle(struct options *options);

#endif
