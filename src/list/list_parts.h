/*
 * The inside of --list, shared by the files that print: list_table.c for people, list_json.c for
 * programs, list_watch.c for either.
 */
#ifndef ZKFLOCK_LIST_PARTS_H
#define ZKFLOCK_LIST_PARTS_H

#include <stdio.h>

#include "list/admin.h"
#include "list/list_change.h"
#include "list/survey.h"
#include "list/view.h"

/* What is to be printed. */
struct list {
    const struct options *options;
    char *one; /* the path of the one LOCK that was asked for by name; NULL: of several or all */
};

/* ---- list_table.c ---- */

/* One line for each lock. */
void list_table(const struct list *list, const struct view *views, size_t count, FILE *out,
                size_t width, bool colours);

/* A lock with its queue, and below it a table of the locks below it. */
void list_queue(const struct list *list, const struct view *views, size_t count, FILE *out,
                size_t width, bool colours);

/* Whichever of the two it is. */
void list_print(const struct list *list, const struct view *views, size_t count, FILE *out,
                size_t width, bool colours);

/* ---- list_json.c ---- */

/* All of it, as one object. */
int list_json(const struct list *list, const struct view *views, size_t count);

/* One change, as an object in a line. */
int list_json_change(const struct list *list, const struct change *change);

/* ---- list_watch.c ---- */

/* Goes on until a signal, or the reader, ends it; the survey has been read once.  Returns the exit
 * status. */
int list_watch(const struct list *list, struct survey *survey, struct admin *admin);

#endif
