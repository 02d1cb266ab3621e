/*
 * The values of options, from text.  Each returns 0, or EXITCODE_USAGE after a sentence that says
 * what it takes.
 */
#ifndef ZKFLOCK_VALUES_H
#define ZKFLOCK_VALUES_H

#include "options.h"

int values_wait(struct options *options, const char *text);
int values_status(struct options *options, const char *text);
/* A time from least to most, for the option of that name; ns. */
int values_bounded(const char *name, const char *text, int64_t least, int64_t most, int64_t *span);
int values_session_timeout(struct options *options, const char *text);
int values_signal(struct options *options, const char *text);
int values_pid(struct options *options, const char *text);
int values_permits(struct options *options, const char *text);
int values_on_lost(struct options *options, const char *text);
int values_node_style(struct options *options, const char *text);

#endif
