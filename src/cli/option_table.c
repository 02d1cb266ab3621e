#include "cli/option_table.h"

#include <stddef.h>

#include "base/xalloc.h"
#include "config/settings.h"

const char option_table_short[] = "+cE:eFhnoqsuVvw:xz:";

const struct option option_table_long[] = {
    {"break", no_argument, NULL, OPT_BREAK},
    {"close", no_argument, NULL, 'o'},
    {"command", no_argument, NULL, 'c'},
    {"config", required_argument, NULL, OPT_CONFIG},
    {"conflict-exit-code", required_argument, NULL, 'E'},
    {"connect-timeout", required_argument, NULL, OPT_CONNECT_TIMEOUT},
    {"deadline", required_argument, NULL, OPT_DEADLINE},
    {"exclusive", no_argument, NULL, 'x'},
    {"export", no_argument, NULL, OPT_EXPORT},
    {"for", required_argument, NULL, OPT_FOR},
    {"held", no_argument, NULL, OPT_HELD},
    {"help", no_argument, NULL, 'h'},
    {"hold", no_argument, NULL, OPT_HOLD},
    {"hook", required_argument, NULL, OPT_HOOK},
    {"json", no_argument, NULL, OPT_JSON},
    {"kill-after", required_argument, NULL, OPT_KILL_AFTER},
    {"lease", required_argument, NULL, OPT_LEASE},
    {"list", no_argument, NULL, OPT_LIST},
    {"lock-delay", required_argument, NULL, OPT_LOCK_DELAY},
    {"log-format", required_argument, NULL, OPT_LOG_FORMAT},
    {"log-syslog", no_argument, NULL, OPT_LOG_SYSLOG},
    {"max-runtime", required_argument, NULL, OPT_MAX_RUNTIME},
    {"names", no_argument, NULL, OPT_NAMES},
    {"nb", no_argument, NULL, 'n'},
    {"no-fork", no_argument, NULL, 'F'},
    {"no-reentry", no_argument, NULL, OPT_NO_REENTRY},
    {"node-style", required_argument, NULL, OPT_NODE_STYLE},
    {"nonblock", no_argument, NULL, 'n'},
    {"nonblocking", no_argument, NULL, 'n'},
    {"now", no_argument, NULL, OPT_NOW},
    {"on-lost", required_argument, NULL, OPT_ON_LOST},
    {"once-per", required_argument, NULL, OPT_ONCE_PER},
    {"permits", required_argument, NULL, OPT_PERMITS},
    {"quiet", no_argument, NULL, 'q'},
    {"remove", no_argument, NULL, OPT_REMOVE},
    {"retry", required_argument, NULL, OPT_RETRY},
    {"retry-delay", required_argument, NULL, OPT_RETRY_DELAY},
    {"revoke", no_argument, NULL, OPT_REVOKE},
    {"servers", required_argument, NULL, 'z'},
    {"session-timeout", required_argument, NULL, OPT_SESSION_TIMEOUT},
    {"shared", no_argument, NULL, 's'},
    {"show-config", no_argument, NULL, OPT_SHOW_CONFIG},
    {"signal", required_argument, NULL, OPT_SIGNAL},
    {"skip-exit-code", required_argument, NULL, OPT_SKIP_EXIT_CODE},
    {"timeout", required_argument, NULL, 'w'},
    {"tree", no_argument, NULL, OPT_TREE},
    {"unfair", no_argument, NULL, OPT_UNFAIR},
    {"unlock", no_argument, NULL, 'u'},
    {"verbose", no_argument, NULL, 'v'},
    {"version", no_argument, NULL, 'V'},
    {"wait", required_argument, NULL, 'w'},
    {"watch", no_argument, NULL, OPT_WATCH},
    {"with", required_argument, NULL, OPT_WITH},
    {"yes", no_argument, NULL, OPT_YES},
    {NULL, 0, NULL, 0},
};

/* The first row counts where an option has several long forms. */
char *option_table_name(int option)
{
    const struct option *row = option_table_long;

    if (option == 'n' || option == 'w' || option == 'E')
        return xasprintf("-%c", option);
    while (row->name && row->val != option)
        row++;
    return row->name ? xasprintf("--%s", row->name) : xasprintf("-%c", option);
}
