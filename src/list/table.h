/*
 * A table: columns as wide as their widest cells, as far as the line has room.
 */
#ifndef ZKFLOCK_TABLE_H
#define ZKFLOCK_TABLE_H

#include "base/text.h"

struct table_column {
    const char *title;
    bool right;     /* aligned to the right */
    size_t comfort; /* if the lines are too long, cells are cut to so many columns; 0: never */
    size_t least;   /* if they still are, to so many */
    int order;      /* columns with 1 are cut to the least first, then those with 2 */
};

struct table_cell {
    char *text; /* clean */
    enum text_style style;
};

/* Where to print. */
struct table_output {
    FILE *to;
    size_t width; /* of a line; 0: it has no end */
    bool colours;
};

struct table;

/* The columns have to live as long as the table. */
struct table *table_new(const struct table_column *columns, size_t count);

/* Appends a row: a cell for each column.  The table frees their texts. */
void table_add(struct table *table, const struct table_cell *cells);

/* Prints it with its titles. */
void table_print(struct table *table, const struct table_output *out);

void table_free(struct table *table);

#endif
