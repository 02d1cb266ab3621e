#include "cli/arguments_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/exitcode.h"
#include "lock/lockname.h"

enum { HELP_COLUMN = 31 };

static void print_option(const struct option_row *row)
{
    const char *line = row->help;
    size_t len;
    int column;

    if (row->heading)
        printf("\n%s:\n", row->heading);
    column = printf("%s%s", row->forms[1] == '-' ? "      " : "  ", row->forms);
    if (column >= HELP_COLUMN) {
        puts("");
        column = 0;
    }
    do {
        len = strcspn(line, "\n");
        printf("%*s%.*s\n", HELP_COLUMN - column, "", (int)len, line);
        column = 0;
        line += len + 1;
    } while (line[-1]);
}

void usage_print(void)
{
    fputs("Usage: zkflock [options] LOCK COMMAND [ARG]...\n"
          "       zkflock [options] LOCK -c 'SHELL COMMAND'\n"
          "       zkflock [options] --hold LOCK\n"
          "       zkflock --unlock LOCK\n"
          "       zkflock [options] --list [LOCK]...\n"
          "       zkflock [options] --revoke|--break|--remove LOCK\n"
          "       zkflock [options] --show-config [LOCK]\n"
          "\n"
          "Runs COMMAND while holding LOCK, a lock kept by a ZooKeeper ensemble: no two\n"
          "commands run under the same LOCK at the same time, on any hosts.\n"
          "LOCK is a znode path (/app/deploy), or a name: deploy means " LOCKNAME_ROOT "/deploy,\n"
          "or what a config file says.\n",
          stdout);
    for (size_t i = 0; i < option_table_len; i++)
        if (option_table[i].help)
            print_option(&option_table[i]);
    fputs("\n"
          "TIME is in seconds, 0.5 or 90, or has a unit: 500ms 10s 5m 2h 1d.\n"
          "COMMAND finds ZKFLOCK_LOCK, ZKFLOCK_NODE and ZKFLOCK_TOKEN in its environment.\n"
          "\n"
          "Exit status: the command's, or\n",
          stdout);
#define X(name, value, meaning) printf("  %3d  %s\n", (value), (meaning));
    EXITCODES(X)
#undef X
    fputs("\nThe manual, zkflock(1), tells what is guaranteed and when.\n", stdout);
}
