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

/* Prints rows of cells, one for each column, below the titles.  Frees cells and their texts. */
void table_print(const struct table_column *columns, size_t columns_len, struct table_cell *cells,
                 size_t rows, const struct table_output *out);

#endif
