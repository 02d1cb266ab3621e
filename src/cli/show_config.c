#include "cli/arguments_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "config/config.h"
#include "config/values.h"

enum { MAX_LINES = 64 };

/* A line of the section. */
struct line {
    const char *key;
    char *value;
    const char *origin;
    bool comment;
};

/* Joins the names of all --with, or the key's, as they were given, since their sections count. */
static char *join_with(const struct options *options, enum settings_level level)
{
    const struct settings *settings = &options->settings;
    char *joined = xstrdup("");

    for (size_t i = 0; i < settings->len; i++) {
        const struct setting *with = &settings->list[i];

        if (with->row->choice == CHOICE_WITH && with->level == level &&
            settings_applies(with, options->name))
            xreplace(&joined, xasprintf("%s%s%s", joined, *joined ? ", " : "", with->text));
    }
    return joined;
}

/* Returns the path in effect of an option of values_file(); NULL: none is. */
static const char *file_of(const struct options *options, const struct option_row *row)
{
    return *(char *const *)((const char *)options + row->member);
}

/* Returns the value as a file takes it, to be freed. */
static char *value_text(const struct options *options, const struct option_row *row,
                        const struct setting *setting)
{
    if (row->choice == CHOICE_WITH)
        return join_with(options, setting->level);
    if (row->take == values_file)
        return xstrdup(file_of(options, row));
    /* A second -v comes to more than the first. */
    return xstrdup(row->choice == CHOICE_LOG_LEVEL ? row->words[options->log_level]
                                                   : setting->text);
}

static const char *origin_text(const struct setting *setting)
{
    if (!setting)
        return "default";
    if (setting->origin)
        return setting->origin;
    return setting->level == SETTINGS_ENVIRONMENT ? setting->name : "command line";
}

/* Returns whether a row has a line.  Of kind and permits the one that is in use has. */
static bool is_shown(const struct options *options, const struct option_row *row)
{
    if (!row->key || (row->lock_only && !options->name))
        return false;
    return row->choice != CHOICE_KIND ||
           strcmp(row->key, options->permits ? "permits" : "kind") == 0;
}

/* Returns NULL for a file, too, that another setting has made needless. */
static const struct setting *find_in_effect(const struct options *options,
                                            const struct option_row *row)
{
    if (row->take == values_file && !file_of(options, row))
        return NULL;
    return settings_find(&options->settings, option_table_choice(row), options->name);
}

static struct line make_line(const struct options *options, const struct option_row *row)
{
    const struct setting *setting = find_in_effect(options, row);
    struct line line = {.key = row->key, .origin = origin_text(setting)};

    if (setting) {
        line.value = value_text(options, row, setting);
    } else if (row->choice == CHOICE_PATH) { /* from LOCK itself, or the root before it */
        line.value = xstrdup(options->lock);
        line.origin =
            options->name && options->name[0] == '/'
                ? "command line"
                : origin_text(settings_find(&options->settings, CHOICE_ROOT, options->name));
    } else if (row->choice == CHOICE_LEASE) {
        line.value = xasprintf("%gs", (double)options->new_lease / CLOCK_S);
        line.comment = true;
    } else {
        line.value = xstrdup(row->preset ? row->preset : row->unset);
        line.comment = !row->preset;
    }
    return line;
}

/* Returns the exit status. */
static int print(const struct options *options, const struct line *lines, size_t count)
{
    int key_width = 0;
    int value_width = 0;

    for (size_t i = 0; i < count; i++) {
        int key = (int)strlen(lines[i].key) + (lines[i].comment ? 2 : 0);
        int value = (int)strlen(lines[i].value);

        key_width = key > key_width ? key : key_width;
        value_width = value > value_width ? value : value_width;
    }
    if (options->name)
        printf("[lock %s]\n", options->name);
    else
        puts("[zkflock]");
    for (size_t i = 0; i < count; i++)
        printf("%s%-*s = %-*s  # %s\n", lines[i].comment ? "# " : "",
               key_width - (lines[i].comment ? 2 : 0), lines[i].key, value_width, lines[i].value,
               lines[i].origin);
    return text_flush();
}

int show_config(const struct options *options)
{
    struct line lines[MAX_LINES];
    size_t count = 0;
    const char *unfit = options->name;
    bool fits = !unfit || config_can_hold(unfit);
    int status;

    for (size_t i = 0; i < option_table_len && count < MAX_LINES; i++)
        if (is_shown(options, &option_table[i]))
            lines[count++] = make_line(options, &option_table[i]);
    for (size_t i = 0; i < count && fits; i++)
        fits = config_can_hold(unfit = lines[i].value);
    status = fits ? print(options, lines, count)
                  : log_failure(EXITCODE_USAGE, "'%s' cannot stand in a config file", unfit);
    for (size_t i = 0; i < count; i++)
        free(lines[i].value);
    return status;
}
