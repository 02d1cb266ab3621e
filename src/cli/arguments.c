#include "cli/arguments.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zookeeper/zookeeper_version.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "cli/arguments_parts.h"
#include "config/config.h"
#include "config/resolve.h"
#include "config/together.h"

#ifndef ZKFLOCK_VERSION
#define ZKFLOCK_VERSION "unknown"
#endif

static int usage(void)
{
    fputs("Try 'zkflock --help'.\n", stderr);
    return EXITCODE_USAGE;
}

/* ---- actions ---- */

/* Sets the action.  Returns the exit status after a message if another one was asked for before. */
static int take_action(struct options *options, enum action action)
{
    if (options->action != ACTION_RUN && options->action != action)
        return log_failure(EXITCODE_USAGE, "%s and %s do not go together: give one of them",
                           options_action_name(options->action), options_action_name(action));
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

static int refuse_option(const struct options *options, const struct setting *setting)
{
    const struct option_row *row = setting->row;
    char *actions = row->why ? NULL : list_of(row->actions);
    const char *why = options->action == ACTION_NO_FORK
                          ? "zkflock becomes COMMAND, and cannot wait for it"
                          : row->why;

    if (!actions)
        log_error("%s does not go with %s: %s", setting->name, options_action_name(options->action),
                  why);
    else if (options->action == ACTION_RUN)
        log_error("%s goes with %s alone", setting->name, actions);
    else
        log_error("%s does not go with %s: it goes with %s alone", setting->name,
                  options_action_name(options->action), actions);
    free(actions);
    return EXITCODE_USAGE;
}

/*
 * Refuses the first option, in the order of option_table.h, that was typed and has no effect on the
 * action; returns the exit status.  The environment and the config files are not read yet: what
 * they say is meant for runs, and other actions take of it what they need.
 */
static int check_action(const struct options *options)
{
    const struct setting *first = NULL;

    for (size_t i = 0; i < options->settings.len; i++) {
        const struct setting *setting = &options->settings.list[i];

        if (setting->row->actions && !(setting->row->actions & 1 << options->action) &&
            (!first || setting->row < first->row))
            first = setting;
    }
    if (first)
        return refuse_option(options, first);
    if (options->action == ACTION_HOLD && options->hold_export && !options->hold_for)
        return log_failure(EXITCODE_USAGE,
                           "--export needs --for: in $( ) zkflock cannot tell which process calls "
                           "it; in a script give --for $$");
    return 0;
}

/* Drops what a config file means for commands alone, once all settings are in effect. */
static void settle_action(struct options *options)
{
    if (options->action != ACTION_HOLD)
        return;
    options->tree = false;
    options->deadline = options->max_runtime = CLOCK_NEVER;
    if (options->conflict_status == 0)
        options->conflict_status = EXITCODE_BUSY;
}

/* ---- options ---- */

static bool has_form(const struct option_row *row, const char *forms)
{
    return strcmp(row->forms, forms) == 0;
}

/* Puts an option into effect, and keeps it as a setting like those of the config files. */
static int take_option(struct options *options, const struct option_row *row)
{
    char *name = option_table_name(row);
    const struct setting *setting = settings_add(
        &options->settings, &(struct setting){.level = SETTINGS_COMMAND_LINE,
                                              .row = row,
                                              .name = name,
                                              .text = optarg ? optarg : (char *)row->means});

    free(name);
    options->typed[row->choice] = true;
    if (row->action)
        return take_action(options, row->action);
    return row->take ? row->take(options, setting) : 0;
}

/* Takes an option.  row is NULL after a mistake, which getopt_long(3) has reported. */
static int take_argument(struct options *options, const struct option_row *row, bool *done)
{
    if (!row)
        return usage();
    if (row->refusal)
        return log_failure(EXITCODE_USAGE, "%s", row->refusal);
    *done = true;
    if (has_form(row, "-h, --help"))
        usage_print();
    else if (has_form(row, "-V, --version"))
        printf("zkflock %s (ZooKeeper client %s)\n", ZKFLOCK_VERSION, ZOO_VERSION);
    else
        *done = false;
    return *done ? text_flush() : take_option(options, row);
}

/* Takes a variable of the environment, unless the command line overrides it. */
static int take_variable(struct options *options, const char *name, const char *key)
{
    const struct option_row *row = option_table_key(key);
    char *value = getenv(name + 1);

    if (!value || !*value || options->typed[row->choice])
        return 0;
    return resolve_check(settings_add(
        &options->settings,
        &(struct setting){
            .level = SETTINGS_ENVIRONMENT, .row = row, .name = (char *)name, .text = value}));
}

static int take_environment(struct options *options)
{
    static const struct {
        const char *name; /* with a dollar in front */
        const char *key;
    } variables[] = {
        {"$" SERVERS_VARIABLE, "servers"},      {"$" ACCESS_TLS_VARIABLE, "tls"},
        {"$" ACCESS_CACERT_VARIABLE, "cacert"}, {"$" ACCESS_CERT_VARIABLE, "cert"},
        {"$" ACCESS_KEY_VARIABLE, "key"},
    };
    int status = 0;

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]) && status == 0; i++)
        status = take_variable(options, variables[i].name, variables[i].key);
    return status;
}

/*
 * Takes the auth file of the environment, unless the environment has servers and one of those in
 * effect is none of them.  Call it when all other settings are known.
 */
static int take_credentials(struct options *options)
{
    const struct setting *servers =
        settings_find(&options->settings, CHOICE_SERVERS, options->name);
    const char *home = getenv(SERVERS_VARIABLE);

    if (home && *home && !servers_within(servers ? servers->text : SERVERS_DEFAULT, home))
        return 0;
    return take_variable(options, "$" AUTH_FILE_VARIABLE, "auth-file");
}

/* ---- operands ---- */

static int take_shell_command(struct options *options, char **words)
{
    char *shell = getenv("SHELL");

    if (!words[1] || words[2])
        return log_failure(EXITCODE_USAGE,
                           "-c takes exactly one argument, the shell command; quote it "
                           "as one word");
    options->shell_command[0] = shell && *shell ? shell : (char *)"/bin/sh";
    options->shell_command[1] = (char *)"-c";
    options->shell_command[2] = words[1];
    options->command = options->shell_command;
    return 0;
}

/* Takes the operands of an action that runs no COMMAND. */
static int take_locks(struct options *options, char **words)
{
    options->names = words;
    options->name = words[0];
    for (size_t i = 1; words[0] && words[i]; i++)
        if (words[i][0] == '-')
            return log_failure(EXITCODE_USAGE,
                               "'%s' stands behind LOCK; options go before it: zkflock %s %s %s",
                               words[i], options_action_name(options->action), words[i], words[0]);
    if (options->action == ACTION_LIST || (!words[0] && options->action == ACTION_SHOW_CONFIG))
        return 0;
    if (!words[0]) {
        log_error("no LOCK given: zkflock %s LOCK", options_action_name(options->action));
        return usage();
    }
    if (words[1])
        return log_failure(EXITCODE_USAGE, "%s takes no COMMAND: leave '%s' out",
                           options_action_name(options->action), words[1]);
    return 0;
}

static int take_operands(struct options *options, char **words)
{
    const char *name = words[0];

    if (!(ACTIONS_TAKE_COMMAND & 1 << options->action))
        return take_locks(options, words);
    if (!name) {
        if (check_action(options) == 0)
            log_error("no LOCK given");
        return usage();
    }
    options->name = name;
    words++;
    if (*words && strcmp(*words, "--") == 0)
        words++;
    if (!*words) {
        if (*name && !name[strspn(name, "0123456789")])
            log_error("no COMMAND given; a descriptor number alone, as flock(1) takes, cannot "
                      "hold a lock of an ensemble: zkflock LOCK COMMAND");
        else if (strchr(name, '/') && access(name, X_OK) == 0)
            log_error("no LOCK given: zkflock LOCK %s", name);
        else if (check_action(options) == 0)
            log_error("no COMMAND given: zkflock %s COMMAND", name);
        return usage();
    }
    if (strcmp(*words, "-c") == 0 || strcmp(*words, "--command") == 0)
        return take_shell_command(options, words);
    if (words[0][0] == '-')
        return log_failure(
            EXITCODE_USAGE,
            "'%s' stands behind LOCK, where COMMAND is expected; options go before LOCK", *words);
    options->command = words;
    return 0;
}

/*
 * Takes the operands of --list, which may end in slashes.  If there is only one and a config file
 * has a section for it, that section counts.
 */
static void take_listed(struct options *options)
{
    if (options->action != ACTION_LIST)
        return;
    options->name = NULL;
    for (char **name = options->names; *name; name++)
        for (size_t len = strlen(*name); len > 1 && (*name)[len - 1] == '/'; len--)
            (*name)[len - 1] = '\0';
    if (options->names[0] && !options->names[1] &&
        settings_section(&options->settings, options->names[0]))
        options->name = options->names[0];
}

/*
 * Takes the config files.  They are checked without the command line: a mistake that it overrides
 * is still a mistake.  Only what decides whether locks can be taken together is taken into account:
 * servers, ACL and credentials of the command line and the environment.
 */
static int take_config(struct options *options)
{
    struct settings files = {0};
    static const enum choice shared[] = {CHOICE_SERVERS, CHOICE_ACL, CHOICE_AUTH_FILE,
                                         CHOICE_TLS_CERT};
    int status = config_read(&files, options->config_file);

    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
        const struct setting *setting = settings_find(&options->settings, shared[i], NULL);

        if (setting)
            settings_add(&files, setting);
    }
    if (status == 0)
        status = resolve_check_all(&files, options->action);
    for (size_t i = 0; i < files.len; i++)
        settings_add(&options->settings, &files.list[i]);
    settings_release(&files);
    return status;
}

/*
 * Looks for --export after a mistake that has been reported: a shell reads stdout then.  Looks
 * behind LOCK too, unless a COMMAND stands there, whose options are its own.
 */
static void look_for_export(struct options *options, int argc, char **argv)
{
    const struct option_row *row;

    opterr = 0;
    do {
        while (getopt_table_next(argc, argv, &row)) {
            options->hold_export |= row && has_form(row, "--export");
            if (row && row->action == ACTION_HOLD)
                options->action = ACTION_HOLD;
        }
    } while (!(ACTIONS_TAKE_COMMAND & 1 << options->action) && ++optind < argc);
}

static void log_start(const struct options *options)
{
    const char *of_environment = getenv(AUTH_FILE_VARIABLE);

    log_open(&(struct log_options){.level = options->log_level,
                                   .format = options->log_format,
                                   .to_system = options->log_syslog,
                                   .lock = options->lock});
    if (!options->access.auth_file && of_environment && *of_environment)
        log_info("$" AUTH_FILE_VARIABLE
                 " is not used: it is for the servers of $" SERVERS_VARIABLE);
}

int arguments_parse(struct options *options, int argc, char **argv, bool *done)
{
    const struct option_row *row;
    int status = 0;

    *options = (struct options){0};
    *done = false;
    argv[0] = (char *)"zkflock"; /* the name in getopt_long()'s messages */
    while (status == 0 && !*done && getopt_table_next(argc, argv, &row))
        status = take_argument(options, row, done);
    if (*done)
        return status;
    if (status == 0)
        status = take_operands(options, argv + optind);
    if (status)
        look_for_export(options, argc, argv);
    if (status == 0)
        status = check_action(options);
    if (status == 0)
        status = take_environment(options);
    if (status == 0)
        status = take_config(options);
    if (status == 0)
        take_listed(options);
    if (status == 0)
        status = take_credentials(options);
    if (status == 0)
        status = resolve_settings(options);
    if (status == 0)
        settle_action(options);
    if (status == 0 && options->action == ACTION_SHOW_CONFIG) {
        *done = true;
        status = show_config(options);
    }
    if (status == 0)
        log_start(options);
    return status;
}
