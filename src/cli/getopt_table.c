#include "cli/arguments_parts.h"

#include <getopt.h>
#include <limits.h>
#include <string.h>

#include "base/debug.h"
#include "base/xalloc.h"

enum { FIRST_ROW = UCHAR_MAX + 1 }; /* what getopt_long(3) returns for the first row's long forms */

static char letters[2 * UCHAR_MAX] = "+"; /* up to the first operand */
static size_t letters_len = 1;
static struct option names[UCHAR_MAX]; /* ends in one without a name */
static size_t names_len;
static const struct option_row *row_of_letter[UCHAR_MAX + 1];

static void add_forms(const struct option_row *row)
{
    const char *last = strrchr(row->forms, ' ');
    bool has_value = last && last[1] != '-';

    for (const char *form = row->forms; *form == '-'; form += strspn(form, ", ")) {
        unsigned char letter = (unsigned char)form[1];
        size_t len = strcspn(form, ", ");

        if (letter == '-') {
            assert(names_len + 1 < UCHAR_MAX);
            names[names_len++] = (struct option){xstrndup(form + 2, len - 2), has_value, NULL,
                                                 FIRST_ROW + (int)(row - option_table)};
        } else if (!row_of_letter[letter]) {
            row_of_letter[letter] = row;
            letters[letters_len++] = (char)letter;
            if (has_value)
                letters[letters_len++] = ':';
        }
        form += len;
    }
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct option *)a)->name, ((const struct option *)b)->name);
}

static void build(void)
{
    for (size_t i = 0; i < option_table_len; i++)
        if (option_table[i].forms)
            add_forms(&option_table[i]);
    /* getopt_long(3) lists the possibilities of an ambiguous abbreviation in this order. */
    qsort(names, names_len, sizeof(names[0]), compare);
}

bool getopt_table_next(int argc, char **argv, const struct option_row **row)
{
    int option;

    if (!names_len)
        build();
    option = getopt_long(argc, argv, letters, names, NULL);
    if (option == -1)
        return false;
    *row = option >= FIRST_ROW ? &option_table[option - FIRST_ROW] : row_of_letter[option];
    return true;
}
