/*
 * The queue as a waiter tells it to its user: how many are ahead, who holds, since when.  Read
 * beside the lock protocol, which itself looks at the predecessor alone, and without watches:
 * nobody is woken for it.
 *
 *     outlook_new()
 *     outlook_look()                                  asks, as often as one likes
 *     for every event of the session: outlook_handle()
 *     outlook_known(), then the rest
 *     outlook_free()                                  at any time
 *
 * One thread; see session.h.
 */
#ifndef ZKFLOCK_OUTLOOK_H
#define ZKFLOCK_OUTLOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "ensemble/session.h"

/* How long somebody that says why a lock is not free waits for it, ns. */
#define OUTLOOK_PATIENCE CLOCK_S

struct outlook;

/* tag is one that nobody else uses in the session, which has to live as long. */
struct outlook *outlook_new(struct session *session, int tag);

/*
 * Looks at the queue at path, where node is the own znode (NULL: there is none).  Of a semaphore
 * whose turns are queued for there leases is where its permits are held: that is looked at first,
 * and the queue if fewer contenders than permits are there; else leases is NULL.  All are copied.
 * Another path or node than before makes what was known unknown.  Does nothing while an answer is
 * awaited.
 */
void outlook_look(struct outlook *outlook, const char *leases, size_t permits, const char *path,
                  const char *node);

/* Makes what is known unknown; also what a look under way would tell, which begins anew. */
void outlook_forget(struct outlook *outlook);

/* Takes an event of the session, every one of them. */
void outlook_handle(struct outlook *outlook, const struct session_event *event);

/* Returns true if all of the following is known, of the last look that was answered. */
bool outlook_known(const struct outlook *outlook);

/* Returns true if the queue may not be looked at: nothing will be known of it. */
bool outlook_refused(const struct outlook *outlook);

/* Returns true if it is known of leases; else of the queue. */
bool outlook_is_of_leases(const struct outlook *outlook);

/* Returns true if fewer contenders than permits are there: the first one of the queue takes one. */
bool outlook_room(const struct outlook *outlook);

/* Returns how many are ahead, holders included; all contenders if there is no own one. */
size_t outlook_ahead(const struct outlook *outlook);

/*
 * Returns who stands first: as contender_who() has it, the session that another client's znode
 * belongs to, or the name of a znode that no session owns.  Empty if that is the own znode, is
 * hidden, or there is none; or if that one goes as soon as it is looked at.
 */
const char *outlook_holder(const struct outlook *outlook);

/* Returns the path of the first one's znode if no session owns it: only a delete ends it; or NULL.
 */
const char *outlook_persistent(const struct outlook *outlook);

/* Returns true if somebody stands first whose znode this client may not read. */
bool outlook_hidden(const struct outlook *outlook);

/* Returns true if that one does not hold yet, but waits for a holder that vanished. */
bool outlook_settles(const struct outlook *outlook);

/* Returns true if that one shares the lock: others may hold it too. */
bool outlook_shared(const struct outlook *outlook);

/* Returns since when that one has held, in the ensemble's time, ms since the epoch. */
int64_t outlook_held_since(const struct outlook *outlook);

/* NULL is allowed. */
void outlook_free(struct outlook *outlook);

#endif
