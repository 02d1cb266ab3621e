/*
 * The values of options, from text.  Each returns 0, or EXITCODE_USAGE after a sentence that says
 * what it takes, in which the option goes by name.
 */
#ifndef ZKFLOCK_VALUES_H
#define ZKFLOCK_VALUES_H

#include "config/options.h"

/* In the order of enum log_level. */
extern const char *const values_log_levels[LOG_LEVEL_DEBUG + 1];

int values_wait(struct options *options, const char *name, const char *text);
int values_status(const char *name, const char *text, int *status);
/* A time from least to most; ns. */
int values_bounded(const char *name, const char *text, int64_t least, int64_t most, int64_t *span);
/* A time, or 0, which is none: CLOCK_NEVER. */
int values_limit(const char *name, const char *text, int64_t *limit);
int values_session_timeout(struct options *options, const char *name, const char *text);
int values_signal(struct options *options, const char *name, const char *text);
int values_pid(struct options *options, const char *name, const char *text);
int values_retries(struct options *options, const char *name, const char *text);
int values_permits(struct options *options, const char *name, const char *text);
int values_on_lost(struct options *options, const char *name, const char *text);
int values_log_format(struct options *options, const char *name, const char *text);
int values_kind(struct options *options, const char *name, const char *text);
int values_log_level(struct options *options, const char *name, const char *text);
int values_node_style(struct options *options, const char *name, const char *text);

/* "yes" or "no"; NULL, an option that takes no value, is yes. */
int values_flag(const char *name, const char *text, bool *flag);

#endif
