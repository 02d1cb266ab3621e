/*
 * The text that asks a holder, in its znode, to give its lock up.  For a zkflock: what it wrote
 * itself, see contender.h, with "revoked" in the first line, and one more line, the last, that says
 * who asks:
 *
 *     zkflock/1 revoked exclusive
 *     ci@runner7 pid 4711: make deploy
 *     ...
 *     revoked by anna@desk pid 22: zkflock --revoke deploy
 *
 * To others: what Curator's Revoker writes, which a zkflock takes as well.
 */
#ifndef ZKFLOCK_REVOCATION_H
#define ZKFLOCK_REVOCATION_H

#include <stdbool.h>
#include <stddef.h>

#include "lock/contender.h"

/*
 * The text that asks whoever wrote data, of anybody's making, to give the lock up, in the name of
 * this process.  held_ms: since when it holds the lock, which the Stat will tell no more.  To be
 * freed.
 */
char *revocation_encode(const char *data, size_t len, int64_t held_ms);

/* Returns true if these bytes, of anybody's making, are such a text; who asks, or empty: see
 * contender_who(). */
bool revocation_decode(const char *data, size_t len, char who[CONTENDER_WHO_SIZE]);

#endif
