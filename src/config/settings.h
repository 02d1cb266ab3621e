/*
 * What was asked for, before it is put into effect: a list of options with their values as texts,
 * each with the place where it stands: the command line, the environment or a config file.
 */
#ifndef ZKFLOCK_SETTINGS_H
#define ZKFLOCK_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

struct option_row;

/*
 * What settings decide.  Options that decide one thing together, as -s and --permits do, make one
 * choice: one of a later level replaces all those of earlier ones.
 */
enum choice {
    CHOICE_OWN, /* that of one option alone, by whose name nothing in the program asks */
    CHOICE_ACL,
    CHOICE_AUTH_FILE,
    CHOICE_CONFLICT_STATUS,
    CHOICE_DEADLINE,
    CHOICE_KILL_AFTER,
    CHOICE_KIND,
    CHOICE_LEASE,
    CHOICE_LOCK_DELAY,
    CHOICE_LOG_LEVEL,
    CHOICE_MAX_RUNTIME,
    CHOICE_NODE_STYLE,
    CHOICE_ONCE_PER,
    CHOICE_PATH,
    CHOICE_RETRY,
    CHOICE_RETRY_DELAY,
    CHOICE_ROOT,
    CHOICE_SERVERS,
    CHOICE_SKIP_STATUS,
    CHOICE_TLS,
    CHOICE_TLS_CACERT,
    CHOICE_TLS_CERT,
    CHOICE_TLS_KEY,
    CHOICE_TREE,
    CHOICE_WAIT,
    CHOICE_WITH,
    CHOICE_COUNT,
};

/* Where a setting stands.  If two make the same choice, that of the later level counts. */
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
    const struct option_row *row;
    char *name;   /* what messages call it */
    char *text;   /* the value; NULL: it has none */
    char *lock;   /* the LOCK for which alone it is meant; NULL: all */
    char *origin; /* FILE:LINE; NULL: it stands in no file */
};

struct settings {
    struct setting *list;
    size_t len;
};

/* Appends a copy of a setting and its strings.  Returns it; it is valid until the next call. */
const struct setting *settings_add(struct settings *settings, const struct setting *setting);

/* Returns whether a setting is meant for this LOCK, or, for NULL, for all locks. */
bool settings_applies(const struct setting *setting, const char *lock);

/*
 * Returns the setting that counts for a choice, as of option_table_choice(), and for a LOCK, or for
 * all locks if that is NULL.  Returns NULL if there is none.
 */
const struct setting *settings_find(const struct settings *settings, unsigned int choice,
                                    const char *lock);

/* Does the same, but passes over levels above this one. */
const struct setting *settings_find_up_to(const struct settings *settings, unsigned int choice,
                                          const char *lock, enum settings_level level);

/* Returns the first setting for this LOCK alone; NULL if there is none. */
const struct setting *settings_section(const struct settings *settings, const char *lock);

/*
 * Returns the exit status for a fault of a setting: EXITCODE_CONFIG in place of EXITCODE_USAGE if
 * the setting does not stand on the command line.
 */
int settings_status(const struct setting *setting, int status);

void settings_release(struct settings *settings);

#endif
