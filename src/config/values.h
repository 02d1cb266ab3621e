/*
 * The values of settings, from text.  The functions go into rows of option_table.h: each takes the
 * text of a setting into the member of its row, or where it says.  It returns 0, or EXITCODE_USAGE
 * after a sentence that says what the setting takes, in which the setting goes by its name.
 */
#ifndef ZKFLOCK_VALUES_H
#define ZKFLOCK_VALUES_H

#include "config/options.h"

/* "yes" or "no", a bool. */
int values_flag(struct options *options, const struct setting *setting);
/* One of the words of the row, an enum. */
int values_word(struct options *options, const struct setting *setting);
/* A text as it is, which has to stay. */
int values_text(struct options *options, const struct setting *setting);
int values_show_command(struct options *options, const struct setting *setting);
/* The path of a file, a char *, made absolute; in a config file it has to be so. */
int values_file(struct options *options, const struct setting *setting);
/* A number from least to most, an int. */
int values_number(struct options *options, const struct setting *setting);
/* An exit status, an int. */
int values_status(struct options *options, const struct setting *setting);
/* A time from least to most, an int64_t in ns. */
int values_time(struct options *options, const struct setting *setting);
/* A limit on a time, an int64_t in ns; 0 is none: CLOCK_NEVER. */
int values_limit(struct options *options, const struct setting *setting);

/* Each for one choice, into the members that belong to it. */
int values_acl(struct options *options, const struct setting *setting);
int values_kind(struct options *options, const struct setting *setting);
int values_node_style(struct options *options, const struct setting *setting);
int values_pid(struct options *options, const struct setting *setting);
int values_servers(struct options *options, const struct setting *setting);
int values_signal(struct options *options, const struct setting *setting);
int values_verbose(struct options *options, const struct setting *setting);
int values_wait(struct options *options, const struct setting *setting);
/* Adds names of locks, with commas between; they become paths when all settings are known. */
int values_with(struct options *options, const struct setting *setting);
/* Only check: where the locks are is known when all settings are. */
int values_path(struct options *options, const struct setting *setting);
int values_root(struct options *options, const struct setting *setting);

/* Returns the path of a LOCK below this root, to be freed; NULL after a sentence. */
char *values_lock_path(const char *name, const char *root);

/* Returns whether a lock may have this name; says why not. */
bool values_is_lock(const char *name);

#endif
