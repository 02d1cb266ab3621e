/*
 * Several locks held as one: taken one after the other in an order that all processes share, all
 * or none, and given back in reverse.  One lock is the simplest set.
 *
 * The calls are those of a single lock, see lock.h; a set is in the phase of the lock that it is
 * waiting for, HELD when all are, LOST when one is.  A set that is not held yet goes back to its
 * first lock when the session expires, and when one of its locks is taken away: it gives the others
 * back first, JOINING meanwhile.
 */
#ifndef ZKFLOCK_LOCKSET_H
#define ZKFLOCK_LOCKSET_H

#include "lock/lock.h"

/* What to take. */
struct lockset_item {
    char *path;
    const char *lock; /* as the user knows it */
    struct lock_terms terms;
    bool until_next; /* given back as soon as the next one is held */
    bool main;       /* the one whose znode and token the command is told */
};

struct lockset;

/*
 * Begins to take the items, in their order.  They and the session have to live as long as the set;
 * count is at least 1.
 */
struct lockset *lockset_new(struct session *session, const struct lockset_item *items,
                            size_t count);

void lockset_handle(struct lockset *set, const struct session_event *event);
int64_t lockset_tick(struct lockset *set);
void lockset_prove(struct lockset *set);
void lockset_leave(struct lockset *set);
enum lock_phase lockset_phase(const struct lockset *set);
enum exitcode lockset_failure(const struct lockset *set, const char **message);

/*
 * Returns lock_revoked() of the first lock that has to stay held and was asked for, and in *lock
 * which one that is, as the user knows it.
 */
const char *lockset_revoked(const struct lockset *set, const char **lock);

/* While held: the oldest of the last proofs. */
int64_t lockset_proven_at(const struct lockset *set);

/*
 * The smallest of the leases of the locks that are known, ns; the one asked for until one is.  A
 * lock that is held only until the next one does not count: the command does not run under it.
 */
int64_t lockset_lease(const struct lockset *set);

/* The lock that has this lease, as the user knows it. */
const char *lockset_shortest(const struct lockset *set);

/* The lock that the set waits for, or the last one. */
const struct lock *lockset_current(const struct lockset *set);

/* The item that it was made from. */
const struct lockset_item *lockset_current_item(const struct lockset *set);

/* The lock whose znode and token the command is told, once held. */
const struct lock *lockset_main(const struct lockset *set);

/* From this tag on, those of the session are free for others. */
int lockset_tags(const struct lockset *set);

/* Returns true if a znode of the set may be there. */
bool lockset_has_node(const struct lockset *set);

/* Returns true if the ensemble has confirmed that no znode of the set is left. */
bool lockset_is_vacated(const struct lockset *set);

/* Returns true if the set waits for others and holds no lock. */
bool lockset_only_waits(const struct lockset *set);

/* Returns true if the end of one other contender may be all that the set waits for. */
bool lockset_is_next(const struct lockset *set);

/* Returns true if lock_is_awaited() is true of a lock of the set. */
bool lockset_is_awaited(const struct lockset *set);

/*
 * Writes a line "PATH GUID NODE" for each lock, with - for what is missing, for lockset_resume() in
 * another process.  Returns the length, as snprintf() does.
 */
size_t lockset_export(const struct lockset *set, char *text, size_t size);

/* Gives back the locks in these lines; LOCK_LEFT in the end. */
struct lockset *lockset_resume(struct session *session, const char *text);

/* NULL is allowed. */
void lockset_free(struct lockset *set);

#endif
