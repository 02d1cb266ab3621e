/*
 * Puts settings into effect, wherever they stand.
 */
#ifndef ZKFLOCK_RESOLVE_H
#define ZKFLOCK_RESOLVE_H

#include "config/options.h"

/* Checks the value of a setting.  Returns 0, or the exit status after a sentence that says why. */
int resolve_check(const struct setting *setting);

/*
 * Checks that settings from files go together, for each lock that they name and for all others, as
 * far as that matters to the action.  Returns 0, or the exit status after a sentence.
 */
int resolve_check_all(const struct settings *files, enum action action);

/*
 * Sets *options by defaults and by its settings, into which it points afterwards, and checks that
 * they go together.  What no setting decides, the caller has filled in.  Returns 0, or the exit
 * status after a sentence that says why not.  Call options_release() in any case.
 */
int resolve_settings(struct options *options);

#endif
