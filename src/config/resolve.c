#include "config/resolve.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "config/together.h"
#include "config/values.h"
#include "ensemble/znode.h"
#include "lock/lockname.h"

/* The shortest that is ever accepted: with a grace below that of its own. */
#define LEASE_LEAST (3 * CLOCK_S)
#define DEFAULT_CONNECT_TIMEOUT (15 * CLOCK_S)
#define DEFAULT_RETRY_DELAY (10 * CLOCK_S)
#define DEFAULT_SESSION_TIMEOUT_MS 15000
#define ONCE_PER_MAX (CLOCK_S * 86400 * 1000)

static void set_defaults(struct options *options)
{
    options->wait = options->deadline = options->max_runtime = CLOCK_NEVER;
    options->conflict_status = EXITCODE_BUSY;
    options->connect_timeout = DEFAULT_CONNECT_TIMEOUT;
    options->session_timeout_ms = DEFAULT_SESSION_TIMEOUT_MS;
    options->retry_delay = DEFAULT_RETRY_DELAY;
    options->reentry = true;
    options->kill_after = LEASE_OWN_GRACE;
    options->signal = SIGTERM;
    options->lock_delay = LEASE_OWN_DELAY;
    options->log_level = LOG_LEVEL_WARNING;
}

static bool is_lock(const char *name)
{
    char *path = together_lock_named(name, LOCKNAME_ROOT);

    free(path);
    return path != NULL;
}

/* ---- one setting ---- */

/* Takes the name; it becomes a path when all settings are known. */
static int take_with(struct options *options, char *name)
{
    options->with = xreallocarray(options->with, options->with_len + 1, sizeof(options->with[0]));
    options->with[options->with_len++] = (struct further_lock){.path = name};
    return is_lock(name) ? 0 : EXITCODE_USAGE;
}

/* With commas between. */
static int take_with_list(struct options *options, const char *text)
{
    char *list = xstrdup(text);
    char *rest = list;
    int status = 0;

    while (status == 0 && rest)
        status = take_with(options, xstrdup(text_trim(strsep(&rest, ","))));
    free(list);
    return status;
}

static int check_path(const struct setting *setting)
{
    if (setting->text[0] != '/')
        log_error("%s takes the path of a znode, such as /app/nightly, not '%s'", setting->name,
                  setting->text);
    else if (setting->lock[0] == '/' && strcmp(setting->lock, setting->text) != 0)
        log_error("%s cannot be another one for the lock %s, which is named by its path",
                  setting->name, setting->lock);
    else if (is_lock(setting->text))
        return 0;
    return EXITCODE_USAGE;
}

/* Whether any lock at all can have its place there. */
static bool is_lock_below(const char *root, const char *what)
{
    const char *fault;
    char *path = lockname_resolve("x", root, &fault);

    if (!path)
        log_error("the %s '%.64s' %s", what, root, fault);
    free(path);
    return path != NULL;
}

static int check_root(const struct setting *setting)
{
    const char *fault = NULL;

    if (setting->text[0] != '/')
        log_error("%s takes the path of a znode, such as " LOCKNAME_ROOT ", not '%s'",
                  setting->name, setting->text);
    else if (setting->text[1] && (fault = znode_path_fault(setting->text)))
        log_error("the %s '%.64s' %s", setting->name, setting->text, fault);
    else
        return is_lock_below(setting->text, setting->name) ? 0 : EXITCODE_USAGE;
    return EXITCODE_USAGE;
}

static int take_servers(struct options *options, const char *name, const char *text)
{
    char *fault;
    struct servers *servers = servers_parse(text, &fault);

    if (!servers) {
        log_error("%s: %s", name, fault);
        free(fault);
        return EXITCODE_USAGE;
    }
    servers_free(options->servers);
    options->servers = servers;
    return 0;
}

static int take_setting(struct options *options, const struct setting *setting)
{
    const char *name = setting->name;
    const char *text = setting->text;

    switch (setting->option) {
    case 'x':
    case 'e':
        options->kind = NAMING_WRITER; /* as with flock(1), the last of -s and -x counts */
        return 0;
    case 's':
        options->kind = NAMING_READER;
        return 0;
    case OPT_PERMITS:
        return values_permits(options, name, text);
    case OPT_UNFAIR:
        options->unfair = true;
        return 0;
    case 'n':
        options->wait = 0;
        return 0;
    case 'w':
        return values_wait(options, name, text);
    case 'E':
        return values_status(name, text, &options->conflict_status);
    case 'z':
        return take_servers(options, name, text);
    case OPT_CONNECT_TIMEOUT:
        return values_bounded(name, text, 100 * CLOCK_MS, CLOCK_S * 86400,
                              &options->connect_timeout);
    case OPT_KILL_AFTER:
        return values_bounded(name, text, 0, CLOCK_S * 3600, &options->kill_after);
    case OPT_LEASE:
        return values_bounded(name, text, LEASE_LEAST, CLOCK_S * 86400, &options->lease);
    case OPT_LOCK_DELAY:
        return values_bounded(name, text, 0, CLOCK_S * 86400, &options->lock_delay);
    case OPT_NO_REENTRY:
        options->reentry = false;
        return 0;
    case KEY_REENTRY:
        return values_flag(name, text, &options->reentry);
    case OPT_NODE_STYLE:
        return values_node_style(options, name, text);
    case OPT_ON_LOST:
        return values_on_lost(options, name, text);
    case OPT_HOOK:
        options->hook = text;
        return 0;
    case OPT_DEADLINE:
        return values_limit(name, text, &options->deadline);
    case OPT_MAX_RUNTIME:
        return values_limit(name, text, &options->max_runtime);
    case OPT_ONCE_PER:
        return values_bounded(name, text, CLOCK_S, ONCE_PER_MAX, &options->once_per);
    case OPT_SKIP_EXIT_CODE:
        return values_status(name, text, &options->skip_status);
    case OPT_RETRY:
        return values_retries(options, name, text);
    case OPT_RETRY_DELAY:
        return values_bounded(name, text, 100 * CLOCK_MS, CLOCK_S * 86400, &options->retry_delay);
    case OPT_LOG_FORMAT:
        return values_log_format(options, name, text);
    case OPT_LOG_SYSLOG:
        return values_flag(name, text, &options->log_syslog);
    case OPT_SIGNAL:
        return values_signal(options, name, text);
    case OPT_TREE:
        return values_flag(name, text, &options->tree);
    case 'o': /* flock(1)'s word for what is the default here */
        options->tree = false;
        return 0;
    case OPT_WITH:
        return take_with_list(options, text);
    case OPT_SESSION_TIMEOUT:
        return values_session_timeout(options, name, text);
    case 'v':
        options->log_level = options->log_level < LOG_LEVEL_INFO ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG;
        return 0;
    case 'q':
        options->log_level = LOG_LEVEL_ERROR;
        return 0;
    case KEY_KIND:
        return values_kind(options, name, text);
    case KEY_LOG_LEVEL:
        return values_log_level(options, name, text);
    case KEY_PATH:
        return check_path(setting);
    case KEY_ROOT:
        return check_root(setting);
    default:
        log_error("%s cannot be set", name);
        return EXITCODE_INTERNAL;
    }
}

int resolve_check_name(const char *name)
{
    return is_lock(name) ? 0 : EXITCODE_CONFIG;
}

int resolve_check(const struct setting *setting)
{
    struct options scratch = {0};
    int status;

    log_set_place(setting->origin);
    status = settings_status(setting, take_setting(&scratch, setting));
    log_set_place(NULL);
    options_release(&scratch);
    return status;
}

/* ---- all of them ---- */

static void forget_choice(struct options *options, int choice)
{
    switch (choice) {
    case KEY_KIND:
        options->kind = NAMING_MUTEX;
        options->unfair = false;
        options->permits = 0;
        break;
    case KEY_LOG_LEVEL:
        options->log_level = LOG_LEVEL_WARNING;
        break;
    case OPT_WITH:
        while (options->with_len)
            free(options->with[--options->with_len].path);
        break;
    default:
        break;
    }
}

/* All of one level; a choice that it makes replaces the one of lower levels altogether. */
static int take_level(struct options *options, const struct settings *settings,
                      enum settings_level level)
{
    for (size_t i = 0; i < settings->len; i++) {
        const struct setting *setting = &settings->list[i];

        if (setting->level == level && settings_applies(setting, options->name))
            forget_choice(options, settings_choice(setting->option));
    }
    for (size_t i = 0; i < settings->len; i++) {
        const struct setting *setting = &settings->list[i];
        int status = 0;

        if (setting->level == level && settings_applies(setting, options->name))
            status = take_setting(options, setting);
        if (status)
            return settings_status(setting, status);
    }
    return 0;
}

int resolve_settings(struct options *options, const struct settings *settings, const char *name)
{
    int status = 0;

    set_defaults(options);
    options->name = name;
    for (int level = 0; level <= SETTINGS_COMMAND_LINE && status == 0; level++)
        status = take_level(options, settings, (enum settings_level)level);
    if (status == 0 && !options->servers)
        status = take_servers(options, "the default", SERVERS_DEFAULT);
    if (options->action == ACTION_HOLD)
        options->once_per = 0; /* of a config file; there is no command that could succeed */
    if (status == 0)
        status = together_check(options, settings);
    options->new_lease = options->lease ? options->lease : lease_with_room(options->kill_after);
    return status;
}

static int check_lock(const struct settings *files, enum action action, const char *name)
{
    struct options scratch = {.action = action};
    int status = resolve_settings(&scratch, files, name);

    options_release(&scratch);
    return status;
}

int resolve_check_all(const struct settings *files, enum action action)
{
    int status = check_lock(files, action, NULL);

    /* The settings of a lock stand together. */
    for (size_t i = 0; i < files->len && status == 0; i++) {
        const char *lock = files->list[i].lock;

        if (lock &&
            (i == 0 || !files->list[i - 1].lock || strcmp(files->list[i - 1].lock, lock) != 0))
            status = check_lock(files, action, lock);
    }
    return status;
}
