/*
 * Puts settings into effect, wherever they stand.
 */
#ifndef ZKFLOCK_RESOLVE_H
#define ZKFLOCK_RESOLVE_H

#include "config/options.h"
#include "config/settings.h"

/* Checks the value of a setting.  Returns 0, or the exit status after a sentence that says why. */
int resolve_check(const struct setting *setting);

/* Checks the name of a lock.  Returns 0, or EXITCODE_CONFIG after a sentence. */
int resolve_check_name(const char *name);

/*
 * Checks that settings from files go together, for each lock that they name and for all others, as
 * far as that matters to the action.  Returns 0, or the exit status after a sentence.
 */
int resolve_check_all(const struct settings *files, enum action action);

/*
 * Sets *options by defaults and by the settings, and checks that they go together.  What no setting
 * decides, the caller has filled in.  name is the LOCK as it was typed, or NULL.  *options points
 * into the settings afterwards.  Returns 0, or the exit status after a sentence that says why not.
 * Call options_release() in any case.
 */
int resolve_settings(struct options *options, const struct settings *settings, const char *name);

#endif
