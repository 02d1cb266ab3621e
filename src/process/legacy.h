/*
 * What a keeper that is killed leaves to its guard: who it is to the ensemble, so that the guard
 * can go on with the session and give the place in the queue back at once, instead of everybody
 * waiting for the session to expire.
 *
 * It lies in memory that the two share, which costs no message for every lock that is taken.  The
 * command is executed from the guard and has no part of it.
 */
#ifndef ZKFLOCK_LEGACY_H
#define ZKFLOCK_LEGACY_H

#include <stdbool.h>

#include "ensemble/servers.h"
#include "ensemble/session.h"
#include "lock/lockset.h"

struct legacy;

/* Before the guard is forked; NULL with errno. */
struct legacy *legacy_new(void);

/* This process's part of it.  NULL is allowed. */
void legacy_free(struct legacy *legacy);

/* The keeper's side: to be called whenever session or locks may have changed.  Cheap if not. */
void legacy_write(struct legacy *legacy, const struct session *session, const struct lockset *set,
                  const struct servers *servers);

/*
 * The guard's side, when the keeper is dead and the command's tree is empty: gives back what there
 * is.  servers are as at the fork.  Starts threads; returns when nothing is left, or after
 * patience, ns.
 */
void legacy_settle(const struct legacy *legacy, struct servers *servers, int64_t patience);

#endif
