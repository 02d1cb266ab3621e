#include "action.h"

#include <string.h>

#include "exitcode.h"
#include "options.h"

static const char *const names[] = {
    [ACTION_RUN] = NULL,          [ACTION_HOLD] = "--hold",
    [ACTION_UNLOCK] = "--unlock", [ACTION_LIST] = "--list",
    [ACTION_REVOKE] = "--revoke", [ACTION_BREAK] = "--break",
    [ACTION_REMOVE] = "--remove", [ACTION_SHOW_CONFIG] = "--show-config",
};

const char *action_name(const struct options *options)
{
    return names[options->action];
}

int action_take(struct options *options, enum action action)
{
    if (options->action != ACTION_RUN && options->action != action) {
        log_error("%s and %s do not go together: each is a thing of its own to do",
                  action_name(options), names[action]);
        return EXITCODE_USAGE;
    }
    options->action = action;
    return 0;
}

static int goes_with(const char *option, const char *actions)
{
    log_error("%s goes with %s alone", option, actions);
    return EXITCODE_USAGE;
}

static bool has_effect_on_one_lock(enum action action)
{
    return action == ACTION_UNLOCK || action == ACTION_REVOKE || action == ACTION_BREAK ||
           action == ACTION_REMOVE;
}

int action_check(const struct options *options)
{
    enum action action = options->action;
    bool holds = action == ACTION_HOLD;

    if (options->hold_export && !holds)
        return goes_with("--export", "--hold");
    if (options->hold_export && !options->hold_for) {
        log_error(
            "--export goes with --for: in $( ) it is not certain which process calls zkflock; "
            "in a script --for $$");
        return EXITCODE_USAGE;
    }
    if (options->hold_for && !holds && action != ACTION_UNLOCK)
        return goes_with("--for", "--hold and --unlock");
    if (options->json && action != ACTION_LIST)
        return goes_with("--json", "--list");
    if (options->watch && action != ACTION_LIST)
        return goes_with("--watch", "--list");
    if (options->names_only && action != ACTION_LIST)
        return goes_with("--names", "--list");
    if (options->yes && action != ACTION_REVOKE && action != ACTION_BREAK)
        return goes_with("--yes", "--revoke and --break");
    /* To do less than was asked for is no answer; what a file says of a command is not meant. */
    if (has_effect_on_one_lock(action) && options_typed(options, OPT_WITH)) {
        log_error("%s takes one LOCK, and no --with", action_name(options));
        return EXITCODE_USAGE;
    }
    if (options->names_only && (options->json || options->watch)) {
        log_error("--names does not go with %s", options->json ? "--json" : "--watch");
        return EXITCODE_USAGE;
    }
    if (holds && options->once_per) {
        log_error("--once-per does not go with --hold: there is no command whose success could be "
                  "noted");
        return EXITCODE_USAGE;
    }
    if (holds && options->tree) {
        log_error("--tree does not go with --hold: the lock is held until the calling process "
                  "ends");
        return EXITCODE_USAGE;
    }
    return 0;
}
