#include "list/list.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "config/together.h"
#include "list/describe.h"
#include "list/list_parts.h"
#include "list/screen.h"
#include "process/signals.h"

/* ---- what to look at ---- */

/* Only -q on the command line: quiet in a config file does not silence a list. */
static bool asks_by_status(const struct options *options)
{
    return options->typed[CHOICE_LOG_LEVEL] && options->log_level == LOG_LEVEL_ERROR &&
           !options->names_only;
}

static int check(const struct options *options)
{
    if (!asks_by_status(options))
        return 0;
    if (options->json || options->watch || options->held_only) {
        log_error(
            "-q does not go with %s: with -q only the exit status says whether a LOCK is held",
            options->json    ? "--json"
            : options->watch ? "--watch"
                             : "--held");
        return EXITCODE_USAGE;
    }
    if (!options->names[0] || options->names[1]) {
        log_error(
            "--list -q takes exactly one LOCK, and tells by the exit status whether it is held");
        return EXITCODE_USAGE;
    }
    return 0;
}

static void add_path(struct list *list, char *path)
{
    list->paths = xreallocarray(list->paths, list->paths_len + 1, sizeof(list->paths[0]));
    list->paths[list->paths_len++] = path;
}

/* Sets the log's lock to each path as it is added; in the end it stays if it is the only one. */
static int find_asked(struct list *list)
{
    const struct options *options = list->options;

    for (char **name = options->names; *name; name++) {
        char *path = strcmp(*name, "/") == 0 ? xstrdup(*name) : together_path(options, *name);

        if (!path)
            return EXITCODE_USAGE;
        add_path(list, path);
        log_set_lock(path);
        if (!together_same_ensemble(options, *name)) {
            log_error("the lock %s has servers of its own (%s): list it alone", *name,
                      settings_find(&options->settings, CHOICE_SERVERS, *name)->origin);
            return EXITCODE_USAGE;
        }
    }
    if (list->paths_len == 1)
        list->one = list->paths[0];
    else
        log_set_lock(NULL);
    return 0;
}

/* Adds the locks that config files name; the locks below the root come with the root. */
static void find_configured(struct list *list)
{
    const struct options *options = list->options;
    size_t count;
    const char **names = list_name_configured(options, &count);

    for (size_t i = 0; i < count; i++) {
        char *path = together_path(options, names[i]);

        if (path && together_same_ensemble(options, names[i])) {
            add_path(list, path);
            continue;
        }
        log_set_lock(path);
        if (path && !options->names_only)
            log_notice("the lock %s has servers of its own: zkflock --list %s", names[i], names[i]);
        log_set_lock(NULL);
        free(path);
    }
    free(names);
}

/* ---- printing ---- */

static int tell_status(struct admin *admin, const char *path)
{
    struct view view;
    int status = survey_lock(admin, path, &view);

    if (status)
        return status;
    status = view.state == VIEW_FREE ? EXITCODE_BUSY : 0;
    view_release(&view);
    return status;
}

/*
 * Prints each name once, those in config files also if the ensemble does not answer; raw into a
 * pipe, since a name is to be typed or passed on as it is.
 */
static int tell_names(const struct options *options, const struct view *views, size_t count)
{
    bool clean = screen_width() > 0;
    size_t configured_len = 0;
    const char **configured = options->names[0] || options->held_only
                                  ? NULL
                                  : list_name_configured(options, &configured_len);
    char **names = xcalloc(configured_len + count + 1, sizeof(names[0]));
    size_t len = 0;

    for (size_t i = 0; i < configured_len; i++)
        names[len++] = xstrdup(configured[i]);
    for (size_t i = 0; i < count; i++)
        if (views[i].is_lock)
            names[len++] = list_name(options, views[i].path);
    qsort(names, len, sizeof(names[0]), list_name_compare);
    for (size_t i = 0; i < len; i++) {
        char *name = clean ? text_clean(names[i]) : xstrdup(names[i]);

        if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
            puts(name);
        free(name);
    }
    for (size_t i = 0; i < len; i++)
        free(names[i]);
    free(names);
    free(configured);
    return text_flush();
}

/* Prints the summary only on a terminal: a program that reads the table gets nothing but lines. */
static int tell_table(const struct list *list, const struct view *views, size_t count,
                      const char *summary)
{
    const struct table_output out = {stdout, screen_width(), screen_colours()};

    list_print(list, views, count, &out);
    if (summary && out.width && (list->options->held_only || !list->options->names[0]))
        printf("%s%s\n", count ? "\n" : "", summary);
    return text_flush();
}

/* Keeps the locks that are held, or may be because they could not be read. */
static size_t keep_held(struct view *views, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (views[i].holders || views[i].unread)
            views[kept++] = views[i];
        else
            view_release(&views[i]);
    }
    return kept;
}

static int tell_once(const struct list *list, struct survey *survey)
{
    size_t count;
    struct view *views = survey_views(survey, &count);
    char *summary = count ? describe_all(views, count) : NULL;
    int status;

    if (count == 0 && !list->options->names_only && !list->options->json)
        log_notice("no locks below %s", list_name_root(list->options));
    if (list->options->held_only)
        count = keep_held(views, count);
    signals_let_end(true);
    if (list->options->names_only)
        status = tell_names(list->options, views, count);
    else if (list->options->json)
        status = list_json(list, views, count);
    else
        status = tell_table(list, views, count, summary);
    for (size_t i = 0; i < count && list->one && status == 0; i++)
        if (strcmp(views[i].path, list->one) == 0)
            status = survey_unread(&views[i]);
    signals_let_end(false);
    survey_views_free(views, count);
    free(summary);
    return status;
}

static int look(const struct list *list, struct admin *admin)
{
    const struct options *options = list->options;
    enum survey_depth depth =
        options->names_only && !options->held_only ? SURVEY_NAMES : SURVEY_TREE;
    bool asked = options->names[0] != NULL;
    struct survey *survey;
    int status;

    if (list->one && asks_by_status(options))
        return tell_status(admin, list->one);
    survey = survey_new(admin->session, options->watch ? SESSION_SET_WATCH : SESSION_NO_WATCH);
    for (size_t i = 0; i < list->paths_len; i++)
        survey_add(survey, list->paths[i], asked ? depth : SURVEY_LOCK, true);
    if (!asked)
        survey_add(survey, list_name_root(options), depth, false);
    status = survey_read(survey, admin);
    if (status == 0)
        status = options->watch ? list_watch(list, survey, admin) : tell_once(list, survey);
    survey_free(survey);
    return status;
}

int list(const struct options *options)
{
    struct list list = {.options = options};
    struct admin admin;
    int status = check(options);

    if (status)
        return status;
    setlocale(LC_CTYPE, "");
    status = find_asked(&list);
    if (status == 0) {
        if (!options->names[0])
            find_configured(&list);
        status = admin_start(&admin, options);
        if (status == 0)
            status = look(&list, &admin);
        if (status == EXITCODE_UNREACHABLE && options->names_only && !options->names[0] &&
            !options->held_only)
            status = tell_names(options, NULL, 0);
        admin_end(&admin);
    }
    log_set_lock(NULL);
    for (size_t i = 0; i < list.paths_len; i++)
        free(list.paths[i]);
    free(list.paths);
    return status;
}
