/*
 * The names under which a user knows locks, and what the words after --list mean.
 */
#ifndef ZKFLOCK_LIST_NAME_H
#define ZKFLOCK_LIST_NAME_H

#include "config/options.h"

/*
 * What a user would type for the lock at this path: its name in a config file, its name below the
 * root, or the path.  To be freed; of anybody's making.
 */
char *list_name(const struct options *options, const char *path);

/* The names of the config files in the order of their letters, *count of them; to be freed, not the
 * names. */
const char **list_name_configured(const struct options *options, size_t *count);

/* The path that locks with bare names are below. */
const char *list_name_root(const struct options *options);

/*
 * The path for a word after --list, to be freed: a LOCK, or a place above locks, which may be "/".
 * NULL after a message.
 */
char *list_name_path(const struct options *options, const char *word);

/* Whether a config file gives this LOCK servers that are not those in use. */
bool list_name_is_elsewhere(const struct options *options, const char *name);

#endif
