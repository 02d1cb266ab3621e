#include "config/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "config/option_table.h"
#include "config/together.h"

/* ---- one setting ---- */

int resolve_check(const struct setting *setting)
{
    struct options scratch = {0};
    int status;

    log_set_place(setting->origin);
    status = settings_status(setting, setting->row->take(&scratch, setting));
    log_set_place(NULL);
    options_release(&scratch);
    return status;
}

/* ---- all of them ---- */

static void set_defaults(struct options *options)
{
    options->wait = options->deadline = options->max_runtime = CLOCK_NEVER;
    options->kill_after = LEASE_OWN_GRACE;
    options->lock_delay = LEASE_OWN_DELAY;
    for (size_t i = 0; i < option_table_len; i++) {
        const struct option_row *row = &option_table[i];

        if (row->preset)
            row->take(options, &(struct setting){.row = row, .text = (char *)row->preset});
    }
}

static void forget_choice(struct options *options, enum choice choice)
{
    if (choice == CHOICE_KIND) {
        options->kind = NAMING_MUTEX;
        options->unfair = false;
        options->permits = 0;
    } else if (choice == CHOICE_LOG_LEVEL) {
        options->log_level = LOG_LEVEL_WARNING;
    } else if (choice == CHOICE_WITH) {
        while (options->with_len)
            free(options->with[--options->with_len].path);
    } else if (choice == CHOICE_AUTH_FILE) {
        xreplace(&options->access.auth_file, NULL);
    } else if (choice == CHOICE_TLS_CACERT) {
        xreplace(&options->access.tls.cacert, NULL);
    } else if (choice == CHOICE_TLS_CERT) {
        xreplace(&options->access.tls.cert, NULL);
    } else if (choice == CHOICE_TLS_KEY) {
        xreplace(&options->access.tls.key, NULL);
    }
}

/* Takes the settings of a level.  A choice that is made there replaces those of lower levels. */
static int take_level(struct options *options, enum settings_level level)
{
    const struct settings *settings = &options->settings;

    for (size_t i = 0; i < settings->len; i++) {
        const struct setting *setting = &settings->list[i];

        if (setting->level == level && settings_applies(setting, options->name))
            forget_choice(options, setting->row->choice);
    }
    for (size_t i = 0; i < settings->len; i++) {
        const struct setting *setting = &settings->list[i];
        int status = 0;

        if (setting->level == level && settings_applies(setting, options->name) &&
            setting->row->take)
            status = setting->row->take(options, setting);
        if (status)
            return settings_status(setting, status);
    }
    return 0;
}

static const struct setting *find(const struct options *options, enum choice choice)
{
    return settings_find(&options->settings, choice, options->name);
}

/* Forgets a choice that was made at an earlier level than the other one. */
static void forget_earlier(struct options *options, enum choice choice, enum choice than)
{
    const struct setting *one = find(options, choice);
    const struct setting *other = find(options, than);

    if (one && other && one->level < other->level)
        forget_choice(options, choice);
}

static bool is_of_environment(const struct setting *setting)
{
    return setting && setting->level == SETTINGS_ENVIRONMENT;
}

/*
 * Forgets a key that belongs to another certificate.  Without TLS, forgets the files for TLS if a
 * later level switched TLS off, or if they are from the environment, where they may be meant for
 * other servers.
 */
static void forget_files_of_tls(struct options *options)
{
    const enum choice files[] = {CHOICE_TLS_CACERT, CHOICE_TLS_CERT, CHOICE_TLS_KEY};

    forget_earlier(options, CHOICE_TLS_KEY, CHOICE_TLS_CERT);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !options->access.use_tls; i++) {
        forget_earlier(options, files[i], CHOICE_TLS);
        if (is_of_environment(find(options, files[i])))
            forget_choice(options, files[i]);
    }
}

static int resolve(struct options *options, bool whole)
{
    int status = 0;

    set_defaults(options);
    for (int level = 0; level <= SETTINGS_COMMAND_LINE && status == 0; level++)
        status = take_level(options, (enum settings_level)level);
    if (options->action == ACTION_HOLD)
        options->once_per = 0; /* of a config file; there is no command that could succeed */
    if (status == 0) {
        forget_files_of_tls(options);
        status = together_check(options, whole);
    }
    options->new_lease = options->lease ? options->lease : lease_with_room(options->kill_after);
    return status;
}

int resolve_settings(struct options *options)
{
    return resolve(options, true);
}

static int check_lock(const struct settings *files, enum action action, const char *name)
{
    struct options scratch = {.settings = *files, .action = action, .name = name};
    int status = resolve(&scratch, false);

    scratch.settings = (struct settings){0}; /* the caller's */
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
