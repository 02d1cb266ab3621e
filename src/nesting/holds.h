/*
 * Finds the locks that are held for a process, which is a caller of --hold, or the guard above a
 * command.  Each keeper has a socket for that.
 *
 * The socket's abstract name tells which process the lock is held for, and since when.  It ends in
 * a random part, so that nobody can take the name beforehand.  Sockets of other users are passed
 * over, except that of the keeper whose command this process is a part of.
 */
#ifndef ZKFLOCK_HOLDS_H
#define ZKFLOCK_HOLDS_H

#include <stdbool.h>
#include <sys/types.h>

#include "nesting/reentry.h"
#include "process/around.h"
#include "process/process.h"

/*
 * For the keeper: listens on a socket by which others find what it holds for that process, a caller
 * or the guard of a command.  Fills in its name.  Returns the socket, or -1 with errno.
 */
int holds_listen(enum reentry_holder kind, const struct procid *holder,
                 char name[AROUND_NAME_SIZE]);

/*
 * Asks the keeper that fd is connected to, and leaves fd open.  own: the keeper is the own user's;
 * else it tells what it holds without being asked, see wire_tell().  name is the socket's, as in
 * ZKFLOCK_HELD.  Returns whether it is the keeper that was looked for.
 */
typedef bool holds_ask(int fd, enum reentry_holder kind, bool own, const char *name, void *context);

/*
 * Asks the keepers of locks that are held for the caller, the latest first, until ask() returns
 * true.  caller 0: for this process, then for its parent, and so on.  Those with too many
 * connections are asked last, and passed over if they do not accept before the deadline.  Returns
 * the process that the lock is held for; 0: none.
 */
pid_t holds_find(pid_t caller, int64_t deadline, holds_ask *ask, void *context);

/*
 * Returns whether it is another user who listens by that name; false if that cannot be found out.
 * For one that is crowded: of one that is connected, wire_is_own() tells.
 */
bool holds_is_foreign(const char *name);

#endif
