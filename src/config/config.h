/*
 * The config files.
 *
 *     [zkflock]               for all locks
 *     servers = zk1,zk2,zk3
 *
 *     [lock nightly]          for the one that is given as LOCK by this name
 *     path = /app/nightly
 *
 * The system's file is CONFIG_SYSTEM_FILE, the user's one $XDG_CONFIG_HOME/zkflock/config, else
 * $HOME/.config/zkflock/config.  A file that somebody else might have written is refused: the
 * user's one has to belong to root or to the user, the system's one to root.
 */
#ifndef ZKFLOCK_CONFIG_H
#define ZKFLOCK_CONFIG_H

#include "config/settings.h"

#define CONFIG_SYSTEM_FILE "/etc/zkflock.conf"

/*
 * Reads file, or both of the above if it is NULL, and appends their settings.  Either of the two
 * may be missing.  Checks each value by itself.  Returns 0, or EXITCODE_CONFIG after a sentence
 * about the first mistake.
 */
int config_read(struct settings *settings, const char *file);

/*
 * Returns whether a text can stand in a file as a value: it is not empty, and has no blanks around
 * it, no control characters, and nothing that would begin a comment.
 */
bool config_can_hold(const char *text);

#endif
