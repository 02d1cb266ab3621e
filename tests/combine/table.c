/*
 * Prints the options that the program knows actions for, one in a line.
 */
#include <stdio.h>
#include <stdlib.h>

#include "config/option_table.h"

int main(void)
{
    for (size_t i = 0; i < option_table_len; i++) {
        char *name;

        if (!option_table[i].actions)
            continue;
        name = option_table_name(&option_table[i]);
        puts(name);
        free(name);
    }
    return 0;
}
