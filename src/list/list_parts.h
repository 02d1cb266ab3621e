/*
 * The inside of --list, shared by the files that print: list_table.c for people, list_json.c for
 * programs, list_watch.c for either.
 */
#ifndef ZKFLOCK_LIST_PARTS_H
#define ZKFLOCK_LIST_PARTS_H

#include "list/admin.h"
#include "list/list_change.h"
#include "list/survey.h"
#include "list/table.h"
#include "list/view.h"

/* What to print. */
struct list {
    const struct options *options;
    char *one; /* the path, if one LOCK was asked for by name; NULL: several, or all */
};

/* ---- list_table.c ---- */

/* One line for each lock; before it, with its queue, the one LOCK that was asked for. */
void list_print(const struct list *list, const struct view *views, size_t count,
                const struct table_output *out);

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
