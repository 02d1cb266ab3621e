/*
 * The table of what does not go together.
 */
#ifndef ZKFLOCK_APART_H
#define ZKFLOCK_APART_H

#include "config/options.h"

/* Features of the settings in effect, as bits. */
enum {
    APART_SHARED = 1 << 0,
    APART_EXCLUSIVE = 1 << 1,
    APART_UNFAIR = 1 << 2,
    APART_PERMITS = 1 << 3,
    APART_STYLE = 1 << 4, /* other names than Curator's, typed */
    APART_PLAIN = 1 << 5, /* names without a GUID */
    APART_ONCE_PER = 1 << 6,
    APART_HOLD = 1 << 7,
    APART_CONFLICT_0 = 1 << 8, /* typed */
    APART_NAMES = 1 << 9,
    APART_JSON = 1 << 10,
    APART_WATCH = 1 << 11,
    APART_NOW = 1 << 12,
    APART_EVERY_TIME = 1 << 13, /* no --once-per */
    APART_HELD = 1 << 14,       /* --list */
    APART_NO_RETRY = 1 << 15,
    APART_RETRY_DELAY = 1 << 16, /* typed, and not to be shown alone */
    APART_SKIP = 1 << 17,        /* the same of --skip-exit-code */
};

struct apart {
    int features;           /* that do not go together */
    enum choice choices[2]; /* that may be to blame; 0: none */
    const char *sentence;   /* says so */
};

/* Ends with a row without a sentence. */
extern const struct apart apart_rows[];

/* Returns the first row that the settings in effect break; NULL if they go together. */
const struct apart *apart_find(const struct options *options);

#endif
