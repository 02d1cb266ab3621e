#include "cli/action.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/option_table.h"

int action_take(struct options *options, enum action action)
{
    if (options->action != ACTION_RUN && options->action != action) {
        log_error("%s and %s do not go together: each is a thing of its own to do",
                  options_action_name(options->action), options_action_name((enum action)action));
        return EXITCODE_USAGE;
    }
    options->action = action;
    return 0;
}

/* ---- what goes with what ---- */

enum {
    RUN = 1 << ACTION_RUN,
    HOLD = 1 << ACTION_HOLD,
    UNLOCK = 1 << ACTION_UNLOCK,
    LIST = 1 << ACTION_LIST,
    REVOKE = 1 << ACTION_REVOKE,
    BREAK = 1 << ACTION_BREAK,
    REMOVE = 1 << ACTION_REMOVE,
    SHOW = 1 << ACTION_SHOW_CONFIG, /* takes all that a config file can say */

    TAKES = ACTIONS_TAKE_LOCK,
    WAITS = TAKES | REVOKE | REMOVE,
    ASKS_SERVERS = WAITS | LIST | BREAK,
    ALL = ASKS_SERVERS | UNLOCK,
};

static const char no_wait[] = "it waits for nobody";
static const char no_holder[] = "nothing is run under the lock";
static const char no_command[] = "there is no command";
static const char no_server[] = "it asks no server";

const struct action_effect action_effects[] = {
    {'e', TAKES, no_holder},
    {'s', TAKES, no_holder},
    {'x', TAKES, no_holder},
    {OPT_PERMITS, TAKES, no_holder},
    {OPT_UNFAIR, TAKES, no_holder},
    {OPT_WITH, TAKES, "give that LOCK a call of its own"},
    {OPT_NO_REENTRY, TAKES, no_holder},
    {OPT_EXPORT, HOLD | UNLOCK, NULL},
    {OPT_FOR, HOLD | UNLOCK, NULL},
    {OPT_JSON, LIST, NULL},
    {OPT_WATCH, LIST, NULL},
    {OPT_NAMES, LIST, NULL},
    {OPT_HELD, LIST, NULL},
    {OPT_YES, REVOKE | BREAK, NULL},
    {'n', WAITS, no_wait},
    {'w', WAITS, no_wait},
    {'E', TAKES, no_command},
    {OPT_ONCE_PER, RUN | SHOW, "there is no command whose success could be noted"},
    {OPT_NOW, RUN, "nothing is run"},
    {OPT_SKIP_EXIT_CODE, RUN | SHOW, no_command},
    {OPT_DEADLINE, RUN | SHOW, no_command},
    {OPT_MAX_RUNTIME, RUN | SHOW, no_command},
    {OPT_TREE, RUN | SHOW, no_command},
    {'o', RUN | SHOW, no_command},
    {OPT_HOOK, TAKES, no_holder},
    {'z', ALL, NULL},
    {OPT_CONNECT_TIMEOUT, ASKS_SERVERS, no_server},
    {OPT_SESSION_TIMEOUT, ASKS_SERVERS, no_server},
    {OPT_RETRY, TAKES, no_holder},
    {OPT_RETRY_DELAY, TAKES, no_holder},
    {OPT_NODE_STYLE, TAKES, no_holder},
    {OPT_LEASE, TAKES, no_holder},
    {OPT_SIGNAL, TAKES, no_holder},
    {OPT_KILL_AFTER, TAKES, no_holder},
    {OPT_ON_LOST, TAKES, no_holder},
    {OPT_LOCK_DELAY, TAKES, no_holder},
    {OPT_CONFIG, ALL, NULL},
    {'v', ALL, NULL},
    {'q', ALL, NULL},
    {OPT_LOG_FORMAT, ALL, NULL},
    {OPT_LOG_SYSLOG, ALL, NULL},
    {0, 0, NULL},
};

/* "--hold and --unlock", to be freed. */
static char *list_of(int actions)
{
    char *list = NULL;

    for (int action = 0; action < ACTION_COUNT; action++) {
        const char *name = options_action_name((enum action)action);

        if (actions & 1 << action)
            xreplace(&list, list ? xasprintf("%s and %s", list, name) : xstrdup(name));
    }
    return list;
}

static void refuse(const struct options *options, const struct action_effect *effect)
{
    char *option = option_table_name(effect->option);
    char *actions = effect->why ? NULL : list_of(effect->actions);

    if (!actions)
        log_error("%s does not go with %s: %s", option, options_action_name(options->action),
                  effect->why);
    else if (options->action == ACTION_RUN)
        log_error("%s goes with %s alone", option, actions);
    else
        log_error("%s does not go with %s: it goes with %s alone", option,
                  options_action_name(options->action), actions);
    free(actions);
    free(option);
}

int action_check(const struct options *options)
{
    for (const struct action_effect *effect = action_effects; effect->option; effect++) {
        if (!options->typed[effect->option] || effect->actions & 1 << options->action)
            continue;
        refuse(options, effect);
        return EXITCODE_USAGE;
    }
    if (options->action == ACTION_HOLD && options->hold_export && !options->hold_for) {
        log_error("--export goes with --for: in $( ) it is not certain which process calls "
                  "zkflock; in a script --for $$");
        return EXITCODE_USAGE;
    }
    return 0;
}

void action_settle(struct options *options)
{
    if (options->action != ACTION_HOLD)
        return;
    options->tree = false;
    options->deadline = options->max_runtime = CLOCK_NEVER;
    if (options->conflict_status == 0)
        options->conflict_status = EXITCODE_BUSY;
}
