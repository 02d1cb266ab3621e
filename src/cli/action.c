#include "cli/action.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "config/option_table.h"

int action_take(struct options *options, enum action action)
{
    if (options->action != ACTION_RUN && options->action != action) {
        log_error("%s and %s do not go together: give one of them",
                  options_action_name(options->action), options_action_name(action));
        return EXITCODE_USAGE;
    }
    options->action = action;
    return 0;
}

/* Returns "--hold and --unlock", to be freed. */
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

static int refuse(const struct options *options, const struct setting *setting)
{
    const struct option_row *row = setting->row;
    char *actions = row->why ? NULL : list_of(row->actions);

    if (!actions)
        log_error("%s does not go with %s: %s", setting->name, options_action_name(options->action),
                  row->why);
    else if (options->action == ACTION_RUN)
        log_error("%s goes with %s alone", setting->name, actions);
    else
        log_error("%s does not go with %s: it goes with %s alone", setting->name,
                  options_action_name(options->action), actions);
    free(actions);
    return EXITCODE_USAGE;
}

int action_check(const struct options *options)
{
    const struct setting *first = NULL;

    for (size_t i = 0; i < options->settings.len; i++) {
        const struct setting *setting = &options->settings.list[i];

        if (setting->row->actions && !(setting->row->actions & 1 << options->action) &&
            (!first || setting->row < first->row))
            first = setting;
    }
    if (first)
        return refuse(options, first);
    if (options->action == ACTION_HOLD && options->hold_export && !options->hold_for) {
        log_error("--export needs --for: in $( ) zkflock cannot tell which process calls it; in a "
                  "script give --for $$");
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
