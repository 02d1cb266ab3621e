/*
 * Prints the options that the program knows actions for, one in a line.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/action.h"
#include "cli/option_table.h"

int main(void)
{
    for (const struct action_effect *effect = action_effects; effect->option; effect++) {
        char *name = option_table_name(effect->option);

        puts(name);
        free(name);
    }
    return 0;
}
