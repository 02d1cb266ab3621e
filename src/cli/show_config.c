#include "cli/show_config.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "config/config.h"
#include "config/config_keys.h"
#include "config/settings.h"
#include "config/values.h"

enum { MAX_ROWS = 64 };

/* A line of the section. */
struct row {
    const char *key;
    char *value;
    const char *origin;
    bool comment;
};

/* All --with together, or the key; names as they were given, since their sections count. */
static char *join_with(const struct options *options, enum settings_level level)
{
    const struct settings *settings = &options->settings;
    char *joined = xstrdup("");

    for (size_t i = 0; i < settings->len; i++) {
        const struct setting *with = &settings->list[i];

        if (with->option == OPT_WITH && with->level == level &&
            settings_applies(with, options->name))
            xreplace(&joined, xasprintf("%s%s%s", joined, *joined ? ", " : "", with->text));
    }
    return joined;
}

static const char *kind_text(const struct options *options)
{
    switch (options->kind) {
    case NAMING_READER:
        return "shared";
    case NAMING_UNFAIR:
        return "unfair";
    default:
        return "exclusive";
    }
}

static char *yes_or_no(bool flag)
{
    return xstrdup(flag ? "yes" : "no");
}

/* As a file takes it, to be freed. */
static char *value_text(const struct options *options, const struct setting *setting)
{
    switch (settings_choice(setting->option)) {
    case KEY_KIND:
        return xstrdup(options->permits ? setting->text : kind_text(options));
    case KEY_LOG_LEVEL:
        return xstrdup(values_log_levels[options->log_level]);
    case OPT_LOG_SYSLOG:
        return yes_or_no(options->log_syslog);
    case OPT_TREE:
        return yes_or_no(options->tree);
    case KEY_REENTRY:
        return yes_or_no(options->reentry);
    case OPT_WITH:
        return join_with(options, setting->level);
    case 'w':
        return xstrdup(setting->option == 'n' ? "0" : setting->text);
    default:
        return xstrdup(setting->text);
    }
}

static const char *origin_text(const struct setting *setting)
{
    if (!setting)
        return "default";
    if (setting->origin)
        return setting->origin;
    return setting->level == SETTINGS_ENVIRONMENT ? setting->name : "command line";
}

/* Where a path comes from that no key gives: LOCK itself, or the root before it. */
static const char *path_origin(const struct settings *settings, const char *name)
{
    return name && name[0] == '/' ? "command line"
                                  : origin_text(settings_find(settings, KEY_ROOT, name));
}

/* Whether a key has a line: one of kind and permits has, the one that is in use. */
static bool is_shown(const struct options *options, const struct config_key *key)
{
    if (key->lock_only && !options->name)
        return false;
    return settings_choice(key->option) != KEY_KIND ||
           (key->option == OPT_PERMITS) == (options->permits != 0);
}

static struct row make_row(const struct options *options, const struct config_key *key)
{
    const struct setting *setting =
        settings_find(&options->settings, settings_choice(key->option), options->name);
    struct row row = {.key = key->name, .origin = origin_text(setting)};

    if (setting) {
        row.value = value_text(options, setting);
    } else if (key->option == KEY_PATH) {
        row.value = xstrdup(options->lock);
        row.origin = path_origin(&options->settings, options->name);
    } else if (key->option == OPT_LEASE) {
        row.value = xasprintf("%gs", (double)options->new_lease / CLOCK_S);
        row.comment = true;
    } else {
        row.value = xstrdup(key->unset);
        row.comment = !key->unset_is_value;
    }
    return row;
}

static void print(const struct options *options, const struct row *rows, size_t count)
{
    int key_width = 0;
    int value_width = 0;

    for (size_t i = 0; i < count; i++) {
        int key = (int)strlen(rows[i].key) + (rows[i].comment ? 2 : 0);
        int value = (int)strlen(rows[i].value);

        key_width = key > key_width ? key : key_width;
        value_width = value > value_width ? value : value_width;
    }
    if (options->name)
        printf("[lock %s]\n", options->name);
    else
        puts("[zkflock]");
    for (size_t i = 0; i < count; i++)
        printf("%s%-*s = %-*s  # %s\n", rows[i].comment ? "# " : "",
               key_width - (rows[i].comment ? 2 : 0), rows[i].key, value_width, rows[i].value,
               rows[i].origin);
}

int show_config(const struct options *options)
{
    struct row rows[MAX_ROWS];
    size_t count = 0;
    const char *unfit = options->name;
    bool fits = !unfit || config_can_hold(unfit);
    int status = 0;

    for (const struct config_key *key = config_keys; key->name && count < MAX_ROWS; key++)
        if (is_shown(options, key))
            rows[count++] = make_row(options, key);
    for (size_t i = 0; i < count && fits; i++)
        fits = config_can_hold(unfit = rows[i].value);
    if (!fits) {
        log_error("'%s' cannot stand in a config file", unfit);
        status = EXITCODE_USAGE;
    } else {
        print(options, rows, count);
        status = text_flush();
    }
    for (size_t i = 0; i < count; i++)
        free(rows[i].value);
    return status;
}
