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
 * $HOME/.config/zkflock/config.  They are refused where somebody else might have written them: the
 * user's one has to belong to root or to the user, the system's one to root.
 */
#ifndef ZKFLOCK_CONFIG_H
#define ZKFLOCK_CONFIG_H

#include "config/settings.h"

#define CONFIG_SYSTEM_FILE "/etc/zkflock.conf"

/*
 * Reads file, or both of the above where it is NULL, of which either may be missing, and appends
 * what stands there to the settings.  Every value is checked by itself.  Returns 0, or
 * EXITCODE_CONFIG after a sentence about the first mistake.
 */
int config_read(struct settings *settings, const char *file);

/*
 * Whether a text can stand in a file as a value: not empty, no blanks around it, no control
 * characters, and nothing that would begin a comment.
 */
bool config_can_hold(const char *text);

#endif
