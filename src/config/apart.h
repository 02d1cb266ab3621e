/*
 * The table of settings that do not go together.
 */
#ifndef ZKFLOCK_APART_H
#define ZKFLOCK_APART_H

#include "config/options.h"

enum { APART_CHOICES = 3 };

struct apart {
    int features[2];                    /* that do not go together */
    enum choice choices[APART_CHOICES]; /* that may be to blame; 0: none */
    const char *sentence;               /* says so */
};

/*
 * Returns the first row that the settings in effect break; NULL if they go together.  whole: they
 * are all there are, so that what is missing is known, too.
 */
const struct apart *apart_find(const struct options *options, bool whole);

/* Prints the sentence of a row, if there is one, and returns the exit status for it; NULL: 0. */
int apart_refuse(const struct apart *row);

#endif
