/*
 * What was asked for, before it is put into effect: a list of options with their values as texts,
 * each with the place where it was given.  It does not matter to those who read it whether that is
 * the command line, the environment or a config file.
 */
#ifndef ZKFLOCK_SETTINGS_H
#define ZKFLOCK_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/* What has no short form.  Those that begin with KEY_ stand in config files alone. */
enum {
    KEY_KIND = 256,
    KEY_LOG_LEVEL,
    KEY_PATH,
    KEY_REENTRY,
    KEY_ROOT,
    OPT_BREAK,
    OPT_CONFIG,
    OPT_CONNECT_TIMEOUT,
    OPT_DEADLINE,
    OPT_EXPORT,
    OPT_FOR,
    OPT_HELD,
    OPT_HOLD,
    OPT_HOOK,
    OPT_JSON,
    OPT_KILL_AFTER,
    OPT_LEASE,
    OPT_LIST,
    OPT_LOCK_DELAY,
    OPT_LOG_FORMAT,
    OPT_LOG_SYSLOG,
    OPT_MAX_RUNTIME,
    OPT_NAMES,
    OPT_NODE_STYLE,
    OPT_NO_REENTRY,
    OPT_NOW,
    OPT_ONCE_PER,
    OPT_ON_LOST,
    OPT_PERMITS,
    OPT_REMOVE,
    OPT_RETRY,
    OPT_RETRY_DELAY,
    OPT_REVOKE,
    OPT_SESSION_TIMEOUT,
    OPT_SHOW_CONFIG,
    OPT_SIGNAL,
    OPT_SKIP_EXIT_CODE,
    OPT_TREE,
    OPT_UNFAIR,
    OPT_WATCH,
    OPT_WITH,
    OPT_YES,
    OPT_LIMIT,
};

/* Where a setting stands; of two for the same thing the later one here counts. */
enum settings_level {
    SETTINGS_SYSTEM, /* the system's file, for all locks */
    SETTINGS_USER,   /* the user's file, or the one of --config */
    SETTINGS_ENVIRONMENT,
    SETTINGS_SYSTEM_LOCK, /* the system's file, for one lock */
    SETTINGS_USER_LOCK,
    SETTINGS_COMMAND_LINE,
};

struct setting {
    enum settings_level level;
    int option;   /* a short option's letter, or one of the above */
    char *name;   /* what messages call it */
    char *text;   /* the value; NULL: it takes none */
    char *lock;   /* the LOCK for which alone it is meant; NULL: all */
    char *origin; /* FILE:LINE; NULL: it stands in no file */
};

struct settings {
    struct setting *list;
    size_t len;
};

/* Appends a setting, of which the strings are copied; returns it, valid until the next call. */
const struct setting *settings_add(struct settings *settings, const struct setting *setting);

/* Moves all settings of one list to the end of another. */
void settings_move(struct settings *to, struct settings *from);

/*
 * Options that decide one thing together, as -s and --permits do, make one choice.  Returns the
 * option that stands for it: KEY_KIND, KEY_LOG_LEVEL, 'w', or the option itself.
 */
int settings_choice(int option);

/* Whether a setting is meant for this LOCK; for NULL, whether it is for all. */
bool settings_applies(const struct setting *setting, const char *lock);

/* The setting that counts for a choice and a LOCK, or NULL for all locks; NULL if there is none. */
const struct setting *settings_find(const struct settings *settings, int choice, const char *lock);

/* The same among those that count no more than level. */
const struct setting *settings_find_up_to(const struct settings *settings, int choice,
                                          const char *lock, enum settings_level level);

/* The first setting for this LOCK alone; NULL if there is none. */
const struct setting *settings_section(const struct settings *settings, const char *lock);

/*
 * The exit status for a fault of a setting, or of several of which it counts most: instead of
 * EXITCODE_USAGE it is EXITCODE_CONFIG where the setting does not stand on the command line.
 */
int settings_status(const struct setting *setting, int status);

void settings_release(struct settings *settings);

#endif
