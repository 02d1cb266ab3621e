/*
 * Checks that settings go together.
 */
#ifndef ZKFLOCK_TOGETHER_H
#define ZKFLOCK_TOGETHER_H

#include "config/options.h"
#include "config/settings.h"

/* Returns the path that the settings give a LOCK, to be freed; NULL after a sentence. */
char *together_path(const struct settings *settings, const char *name);

/*
 * Returns whether two names of locks mean the same ensemble by the settings.  The name NULL stands
 * for all locks.
 */
bool together_same_ensemble(const struct settings *settings, const char *name, const char *other);

/*
 * Checks *options, in which all settings are in effect, and turns the names of locks into paths.
 * Returns 0, or the exit status after a sentence.  The sentence begins with the place of the
 * setting that counts most among those that do not go together.
 */
int together_check(struct options *options, const struct settings *settings);

#endif
