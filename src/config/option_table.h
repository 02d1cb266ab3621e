/*
 * The table of all options: a row for each option of the command line and each key of the config
 * file.  getopt_long(3)'s tables, --help, the keys, the defaults, --show-config, and what an action
 * refuses are derived from it.  A new option is a row here, and mostly a member of struct options.
 */
#ifndef ZKFLOCK_OPTION_TABLE_H
#define ZKFLOCK_OPTION_TABLE_H

#include <stddef.h>

#include "config/options.h"

struct option_row {
    /* On the command line. */
    const char *forms;   /* "-w, --wait, --timeout TIME"; NULL: the row is a key alone */
    const char *called;  /* what messages call it; NULL: its first long form */
    const char *heading; /* --help: of the section that begins with this row */
    const char *help;    /* NULL: --help leaves the row out */
    const char *refusal; /* why it is always refused; NULL: it is not */
    const char *means;   /* the value that the option stands for, if it takes none */

    /* In the other places. */
    const char *key; /* in a config file; NULL: none */
    bool lock_only;  /* the key stands in sections [lock NAME] alone */

    /* The value if nothing is set: one of these two, or neither if it depends. */
    const char *preset; /* in effect, and may stand in a file, where it changes nothing */
    const char *unset;  /* for people */

    /*
     * Puts the value of a setting, one of those in values.h, into the member.  Returns 0, or the
     * exit status after a sentence.
     */
    int (*take)(struct options *options, const struct setting *setting);
    size_t member; /* offset in struct options */
    int64_t least; /* of a number, or a time in ns */
    int64_t most;
    const char *const *words; /* by the value that each stands for; ends in NULL */
    enum choice choice;

    /* What it has an effect on. */
    int actions;        /* 1 << enum action; 0: nothing refuses it */
    const char *why;    /* it has none on others, as a sentence; NULL: nothing else can be meant */
    enum action action; /* that the option asks for; ACTION_RUN: none */
};

/* In the order of --help and --show-config.  If two rows have a form, the first one counts. */
extern const struct option_row option_table[];
extern const size_t option_table_len;

/* Returns what messages call an option of the command line, to be freed. */
char *option_table_name(const struct option_row *row);

/* Returns the row of a key; NULL if there is no such key. */
const struct option_row *option_table_key(const char *key);

/* Returns the choice of a row, or for CHOICE_OWN a number that no other row has. */
unsigned int option_table_choice(const struct option_row *row);

#endif
