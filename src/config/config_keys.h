/*
 * The keys of the config file, in the order in which --show-config prints them.
 */
#ifndef ZKFLOCK_CONFIG_KEYS_H
#define ZKFLOCK_CONFIG_KEYS_H

#include <stdbool.h>

struct config_key {
    const char *name;
    int option;          /* what it sets, as in settings.h */
    bool lock_only;      /* it stands in a section [lock NAME] alone */
    const char *unset;   /* what holds without it, for people; NULL: that depends */
    bool unset_is_value; /* unset may stand in a file, where it changes nothing */
};

/* Ends in a row without a name. */
extern const struct config_key config_keys[];

/* NULL if there is no such key. */
const struct config_key *config_key_named(const char *name);

#endif
