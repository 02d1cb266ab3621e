#include "list/table.h"

#include <stdlib.h>

#include "base/xalloc.h"

enum { GAP = 2 };

struct table {
    const struct table_column *columns;
    size_t columns_len;
    size_t *widths;
    const struct table_output *out;
};

/*
 * Returns the widest of the columns that can be cut: to their comfort with order 0, to their least
 * with another; NULL if there is none.
 */
static size_t *widest(const struct table *table, int order)
{
    size_t *found = NULL;

    for (size_t i = 0; i < table->columns_len; i++) {
        const struct table_column *column = &table->columns[i];
        size_t floor = order ? column->least : column->comfort;

        if (column->comfort && (order == 0 || column->order == order) && table->widths[i] > floor &&
            (!found || table->widths[i] > *found))
            found = &table->widths[i];
    }
    return found;
}

static void fit(const struct table *table)
{
    size_t line = GAP * (table->columns_len - 1);

    for (size_t i = 0; i < table->columns_len; i++)
        line += table->widths[i];
    for (int order = 0; order <= 2; order++) {
        size_t *column;

        for (; line > table->out->width && (column = widest(table, order)); line--)
            --*column;
    }
}

/* Cuts the cell to what is left of the line, *room, and takes its width off that. */
static void put_cell(const struct table *table, size_t column, const struct table_cell *cell,
                     bool last, size_t *room)
{
    FILE *to = table->out->to;
    bool right = table->columns[column].right;
    size_t width = table->widths[column] < *room ? table->widths[column] : *room;
    char *text = text_cut(cell->text, width);
    int blanks = (int)(width - text_width(text));

    fprintf(to, "%*s", right ? blanks : 0, "");
    text_put(to, text, cell->style, table->out->colours);
    free(text);
    *room -= width;
    if (last || *room <= GAP)
        return;
    fprintf(to, "%*s", right ? GAP : blanks + GAP, "");
    *room -= GAP;
}

static void put_row(const struct table *table, const struct table_cell *cells)
{
    size_t room = table->out->width ? table->out->width : SIZE_MAX;
    size_t used = table->columns_len;

    while (used && !*cells[used - 1].text)
        used--; /* no blanks at the end of a line */
    for (size_t i = 0; i < used && room > 0; i++)
        put_cell(table, i, &cells[i], i == used - 1, &room);
    putc('\n', table->out->to);
}

void table_print(const struct table_column *columns, size_t columns_len, struct table_cell *cells,
                 size_t rows, const struct table_output *out)
{
    struct table table = {columns, columns_len, xcalloc(columns_len, sizeof(size_t)), out};
    struct table_cell *titles = xcalloc(columns_len, sizeof(titles[0]));

    for (size_t i = 0; i < columns_len; i++) {
        titles[i] = (struct table_cell){(char *)columns[i].title, TEXT_BOLD};
        table.widths[i] = text_width(columns[i].title);
    }
    for (size_t i = 0; i < rows * columns_len; i++) {
        size_t width = text_width(cells[i].text);

        if (width > table.widths[i % columns_len])
            table.widths[i % columns_len] = width;
    }
    if (out->width)
        fit(&table);
    put_row(&table, titles);
    for (size_t i = 0; i < rows; i++)
        put_row(&table, cells + i * columns_len);
    for (size_t i = 0; i < rows * columns_len; i++)
        free(cells[i].text);
    free(cells);
    free(titles);
    free(table.widths);
}
