/*
 * Settings put into effect, whatever place they come from.
 */
#ifndef ZKFLOCK_RESOLVE_H
#define ZKFLOCK_RESOLVE_H

#include "config/options.h"
#include "config/settings.h"

/* Whether the value of a setting is one: 0, or the exit status after a sentence that says why. */
int resolve_check(const struct setting *setting);

/* Whether this may be the name of a lock: 0, or EXITCODE_CONFIG after a sentence. */
int resolve_check_name(const char *name);

/*
 * Whether settings from files go together, for every lock that they name and for all others, as
 * far as that matters to the action.  Returns 0, or the exit status after a sentence.
 */
int resolve_check_all(const struct settings *files, enum action action);

/*
 * Sets *options, of which only what stands in no setting is filled in, by the settings and by
 * defaults, and checks that they go together.  name is the LOCK as it was typed, or NULL if there
 * is none.  *options points into the settings afterwards.  Returns 0, or the exit status after a
 * sentence that says why not; options_release() is to be called in any case.
 */
int resolve_settings(struct options *options, const struct settings *settings, const char *name);

#endif
