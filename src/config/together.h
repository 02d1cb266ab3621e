/*
 * Checks that settings go together.
 */
#ifndef ZKFLOCK_TOGETHER_H
#define ZKFLOCK_TOGETHER_H

#include "config/options.h"

/* Returns the path that the settings give a LOCK, to be freed; NULL after a sentence. */
char *together_path(const struct options *options, const char *name);

/* Returns whether this name of a lock means the same ensemble as LOCK, or as all locks without. */
bool together_same_ensemble(const struct options *options, const char *name);

/*
 * Checks *options, in which all settings are in effect, and turns the names of locks into paths.
 * Returns 0, or the exit status after a sentence.  The sentence begins with the place of the
 * setting that counts most among those that do not go together.  whole: the settings are all there
 * are, and not those of files alone.
 */
int together_check(struct options *options, bool whole);

#endif
