#include "list/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

enum { GAP = 2 };

struct table {
    const struct table_column *columns;
    size_t columns_len;
    struct table_cell *cells; /* row by row */
    size_t rows;
    size_t size; /* rows that have room in cells */
    size_t *widths;
};

struct table *table_new(const struct table_column *columns, size_t count)
{
    struct table *table = xcalloc(1, sizeof(*table));

    table->columns = columns;
    table->columns_len = count;
    table->widths = xcalloc(count, sizeof(table->widths[0]));
    for (size_t i = 0; i < count; i++)
        table->widths[i] = text_width(columns[i].title);
    return table;
}

void table_add(struct table *table, const struct table_cell *cells)
{
    if (table->rows == table->size) {
        table->size = 2 * table->size + 16;
        table->cells =
            xreallocarray(table->cells, table->size * table->columns_len, sizeof(table->cells[0]));
    }
    memcpy(table->cells + table->rows++ * table->columns_len, cells,
           table->columns_len * sizeof(cells[0]));
    for (size_t i = 0; i < table->columns_len; i++) {
        size_t width = text_width(cells[i].text);

        if (width > table->widths[i])
            table->widths[i] = width;
    }
}

static size_t line_width(const struct table *table)
{
    size_t sum = GAP * (table->columns_len - 1);

    for (size_t i = 0; i < table->columns_len; i++)
        sum += table->widths[i];
    return sum;
}

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

static void fit(const struct table *table, size_t width)
{
    for (int order = 0; order <= 2; order++) {
        size_t *column;

        while (line_width(table) > width && (column = widest(table, order)))
            --*column;
    }
}

static void put_blanks(FILE *out, size_t count)
{
    while (count--)
        putc(' ', out);
}

/* Cuts the cell to what is left of the line, *room, and takes its width off that. */
static void put_cell(const struct table *table, const struct table_output *out, size_t column,
                     const struct table_cell *cell, bool last, size_t *room)
{
    size_t width = table->widths[column] < *room ? table->widths[column] : *room;
    char *text = text_cut(cell->text, width);
    size_t blanks = width - text_width(text);

    if (table->columns[column].right)
        put_blanks(out->to, blanks);
    text_put(out->to, text, cell->style, out->colours);
    free(text);
    *room -= width;
    if (last || *room <= GAP)
        return;
    if (!table->columns[column].right)
        put_blanks(out->to, blanks);
    put_blanks(out->to, GAP);
    *room -= GAP;
}

static void put_row(const struct table *table, const struct table_output *out,
                    const struct table_cell *cells)
{
    size_t room = out->width ? out->width : SIZE_MAX;
    size_t used = table->columns_len;

    while (used && !*cells[used - 1].text)
        used--; /* no blanks at the end of a line */
    for (size_t i = 0; i < used && room > 0; i++)
        put_cell(table, out, i, &cells[i], i == used - 1, &room);
    putc('\n', out->to);
}

void table_print(struct table *table, const struct table_output *out)
{
    struct table_cell *titles = xcalloc(table->columns_len, sizeof(titles[0]));

    if (out->width)
        fit(table, out->width);
    for (size_t i = 0; i < table->columns_len; i++)
        titles[i] = (struct table_cell){(char *)table->columns[i].title, TEXT_BOLD};
    put_row(table, out, titles);
    for (size_t i = 0; i < table->rows; i++)
        put_row(table, out, table->cells + i * table->columns_len);
    free(titles);
}

void table_free(struct table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->rows * table->columns_len; i++)
        free(table->cells[i].text);
    free(table->cells);
    free(table->widths);
    free(table);
}
