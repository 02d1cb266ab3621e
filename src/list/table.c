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
    size_t size; /* rows that there is room for */
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

/* The widest of those that are wider than they have to be; NULL: there is none.  order 0: comfort.
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

/* room: what is left of the line, at least what the cell takes. */
static void put_cell(const struct table *table, FILE *out, size_t column,
                     const struct table_cell *cell, bool last, size_t *room, bool colours)
{
    size_t width = table->widths[column] < *room ? table->widths[column] : *room;
    char *text = text_cut(cell->text, width);
    size_t blanks = width - text_width(text);

    if (table->columns[column].right)
        put_blanks(out, blanks);
    text_put(out, text, cell->style, colours);
    free(text);
    *room -= width;
    if (last || *room <= GAP)
        return;
    if (!table->columns[column].right)
        put_blanks(out, blanks);
    put_blanks(out, GAP);
    *room -= GAP;
}

/* How many cells of a row have to be put: blanks at the end are none. */
static size_t used_cells(const struct table *table, const struct table_cell *cells)
{
    size_t used = table->columns_len;

    while (used && !*cells[used - 1].text)
        used--;
    return used;
}

static void put_row(const struct table *table, FILE *out, const struct table_cell *cells,
                    size_t room, bool colours)
{
    size_t used = used_cells(table, cells);

    for (size_t i = 0; i < used && room > 0; i++)
        put_cell(table, out, i, &cells[i], i == used - 1, &room, colours);
    putc('\n', out);
}

void table_print(struct table *table, FILE *out, size_t width, bool colours)
{
    struct table_cell *titles = xcalloc(table->columns_len, sizeof(titles[0]));

    if (width)
        fit(table, width);
    for (size_t i = 0; i < table->columns_len; i++)
        titles[i] = (struct table_cell){(char *)table->columns[i].title, TEXT_BOLD};
    put_row(table, out, titles, width ? width : SIZE_MAX, colours);
    for (size_t i = 0; i < table->rows; i++)
        put_row(table, out, table->cells + i * table->columns_len, width ? width : SIZE_MAX,
                colours);
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
