/*
 * What a keeper that is killed leaves to its guard: the identity of its session and its locks. With
 * these the guard resumes the session and gives the place in the queue back at once; else all
 * others would have to wait until the session expires.
 *
 * It lies in memory that keeper and guard share, so that it costs no message for each lock.  The
 * command loses that memory when it is executed.
 */
#ifndef ZKFLOCK_LEGACY_H
#define ZKFLOCK_LEGACY_H

#include "ensemble/servers.h"
#include "ensemble/session.h"
#include "lock/lockset.h"

struct legacy;

/*
 * To be called before the guard is forked.  The memory stays until the process ends.  Returns NULL
 * with errno if there is none.
 */
struct legacy *legacy_new(void);

/*
 * For the keeper: writes what is new.  To be called whenever session or locks may have changed, and
 * cheap if they have not.
 */
void legacy_write(struct legacy *legacy, const struct session *session, const struct lockset *set,
                  const struct servers *servers);

/*
 * For the guard, when the keeper is dead and nothing is left of the command's tree: gives the locks
 * and the place in the queue back.  servers are as they were at the fork.  Reads the files of
 * access itself.  Starts threads; returns when all is given back, or after
 * patience, ns.
 */
void legacy_settle(const struct legacy *legacy, struct servers *servers,
                   const struct access_terms *access, int64_t patience);

#endif
