/*
 * A table: columns that are as wide as what stands in them, as far as the line has room.
 */
#ifndef ZKFLOCK_TABLE_H
#define ZKFLOCK_TABLE_H

#include "base/text.h"

struct table_column {
    const char *title;
    bool right;     /* the cells stand to the right */
    size_t comfort; /* if the line is too long, it is cut to so many columns; 0: never */
    size_t least;   /* if that does not do, it is cut to these */
    int order;      /* which are cut to the least first: 1, then 2 */
};

struct table_cell {
    char *text; /* clean */
    enum text_style style;
};

struct table;

/* The columns have to live as long. */
struct table *table_new(const struct table_column *columns, size_t count);

/* Appends a row of as many cells as there are columns, of which the texts become the table's. */
void table_add(struct table *table, const struct table_cell *cells);

/* Prints it with its titles; width: of the line, 0 if it has no end. */
void table_print(struct table *table, FILE *out, size_t width, bool colours);

void table_free(struct table *table);

#endif
