/*
 * The inside of --list, shared by list.c and the files that print: list_table.c for people,
 * list_json.c for programs, list_watch.c for either.
 */
#ifndef ZKFLOCK_LIST_PARTS_H
#define ZKFLOCK_LIST_PARTS_H

#include "list/list_change.h"
#include "list/survey.h"
#include "list/table.h"

/* What to print. */
struct list {
    const struct options *options;
    char **paths; /* of the locks that are asked for by name, or that config files name */
    size_t paths_len;
    const char *one; /* the path, if one LOCK was asked for by name; NULL: several, or all */
};

/* ---- list_name.c: the names under which a user knows locks ---- */

/*
 * Returns what a user would type for the lock at this path: its name in a config file, its name
 * below the root, or the path.  To be freed; not clean, see text.h.
 */
char *list_name(const struct options *options, const char *path);

/* Returns the sorted names in config files, *count of them; only the array is to be freed. */
const char **list_name_configured(const struct options *options, size_t *count);

/* Compares two names in an array, for qsort(3). */
int list_name_compare(const void *a, const void *b);

/* Returns the path below which locks with bare names are. */
const char *list_name_root(const struct options *options);

/* ---- list_table.c ---- */

/* One line for each lock; before it, with its queue, the one LOCK that was asked for. */
void list_print(const struct list *list, const struct view *views, size_t count,
                const struct table_output *out);

/* Prints a line, cut to what there is room for. */
void list_print_line(const struct table_output *out, const char *clean, enum text_style style);

/* ---- list_json.c ---- */

/* Each returns the exit status.  All locks, as one object. */
int list_json(const struct list *list, const struct view *views, size_t count);

/* One change, as an object in a line. */
int list_json_change(const struct list *list, const struct change *change);

/* ---- list_watch.c ---- */

/*
 * Prints changes until a signal, or the reader, ends it; the survey has been read once.  Returns
 * the exit status.
 */
int list_watch(const struct list *list, struct survey *survey, struct admin *admin);

#endif
