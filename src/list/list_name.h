/*
 * The names under which a user knows locks, and what the words after --list mean.
 */
#ifndef ZKFLOCK_LIST_NAME_H
#define ZKFLOCK_LIST_NAME_H

#include "config/options.h"

/*
 * Returns what a user would type for the lock at this path: its name in a config file, its name
 * below the root, or the path.  To be freed; not clean, see text.h.
 */
char *list_name(const struct options *options, const char *path);

/* Returns the sorted names in config files, *count of them.  The array is to be freed, the names
 * are not. */
const char **list_name_configured(const struct options *options, size_t *count);

/* Returns the path below which locks with bare names are. */
const char *list_name_root(const struct options *options);

/*
 * Returns the path for a word after --list, to be freed: a LOCK, or a place above locks, which may
 * be "/".  NULL after a message.
 */
char *list_name_path(const struct options *options, const char *word);

/* Returns true if a config file gives this LOCK other servers than those in use. */
bool list_name_is_elsewhere(const struct options *options, const char *name);

#endif
