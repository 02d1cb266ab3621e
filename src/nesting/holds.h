/*
 * Locks that are held, found by the process that they are held for, which is a caller of --hold or
 * the guard above a command: the sockets of their keepers, one for each.
 *
 * A socket's abstract name says whom and since when it is held for, and ends in a random part, so
 * that nobody can take the name beforehand.  What another user listens by is passed over, but for
 * the keeper of a command that this process is a part of.
 */
#ifndef ZKFLOCK_HOLDS_H
#define ZKFLOCK_HOLDS_H

#include <stdbool.h>
#include <sys/types.h>

#include "nesting/reentry.h"
#include "process/around.h"
#include "process/procid.h"

/*
 * Listens for those who look for what is held for that process, a caller or the guard of a command;
 * the name is filled in.  Returns a socket, or -1 with errno.
 */
int holds_listen(enum reentry_holder kind, const struct procid *holder,
                 char name[AROUND_NAME_SIZE]);

/*
 * Asks the keeper that fd is connected to, and leaves fd open; whether it is the one.  own: it is
 * of the own user; else it has told what it holds, see wire_tell().  name is that of its socket,
 * which stands in ZKFLOCK_HELD.
 */
typedef bool holds_ask(int fd, enum reentry_holder kind, bool own, const char *name, void *context);

/*
 * Asks the keepers of what is held for that process, the latest first, until one is the one; 0: for
 * this process, then for its parent, and so on.  Those that do not accept until the deadline are
 * passed over.  Returns the process it is held for; 0: none is.
 */
pid_t holds_find(pid_t caller, int64_t deadline, holds_ask *ask, void *context);

#endif
