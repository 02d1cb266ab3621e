/*
 * One contender for one fair, exclusive lock: the protocol, as a state machine without a clock or
 * a loop of its own.
 *
 *     lock_new()
 *     for every event of the session: lock_handle(); when it is due: lock_tick()
 *     until lock_phase() says what the caller waits for
 *     lock_prove() at intervals while it is held
 *     lock_leave(), at any time before or while it is held; events until LOCK_LEFT
 *     lock_free()
 *
 * To stop half-way without lock_leave() is safe too: the znode goes with the session, and the next
 * holder waits one lease because nobody counted the departure.  One thread; see session.h.
 */
#ifndef ZKFLOCK_LOCK_H
#define ZKFLOCK_LOCK_H

#include <stddef.h>
#include <stdint.h>

#include "exitcode.h"
#include "session.h"

struct lock;

enum lock_phase {
    LOCK_JOINING,  /* not in the queue yet, as far as is known */
    LOCK_WAITING,  /* in the queue, behind others */
    LOCK_SETTLING, /* first, but a holder vanished: its command may run until its lease ends */
    LOCK_HELD,     /* proven; lock_proven_at() says when */
    LOCK_LEAVING,  /* giving the place back */
    LOCK_LEFT,     /* nothing of us is left */
    LOCK_LOST,     /* the znode or the session went away while the lock was held */
};

/*
 * A contender for the lock at path, an absolute znode path, that gives it lease_ms if it has to
 * make it.  Its first requests are queued at once and go out with the session's handshake.  The
 * session has to live as long.
 */
struct lock *lock_new(struct session *session, const char *path, int64_t lease_ms);

/* Takes an event of the session, every one of them. */
void lock_handle(struct lock *lock, const struct session_event *event);

/* Does what is due by the clock; returns when to call again, CLOCK_NEVER if nothing will be. */
int64_t lock_tick(struct lock *lock);

/*
 * Sends a proof of life: a write that the ensemble commits only while the own znode is there.
 * Does nothing while there is no contact or the lock is not held.
 */
void lock_prove(struct lock *lock);

/* Gives the place in the queue back, or the lock.  Nothing happens on a second call. */
void lock_leave(struct lock *lock);

enum lock_phase lock_phase(const struct lock *lock);

/*
 * Why the lock left on its own account: the exit status and *message, a sentence that stays the
 * lock's.  0 if it did not.
 */
enum exitcode lock_failure(const struct lock *lock, const char **message);

/* Contenders ahead, while LOCK_WAITING; as of the last list. */
size_t lock_ahead(const struct lock *lock);

/* While held: the time before the last proof that succeeded was sent; the lease runs from it. */
int64_t lock_proven_at(const struct lock *lock);

/* The lease of this lock, ns; the one asked for until the lock's own is known. */
int64_t lock_lease(const struct lock *lock);

/* The own znode's path; NULL before there is one. */
const char *lock_node(const struct lock *lock);

/* The fencing token: the own znode's czxid, which grows with every later holder. */
int64_t lock_token(const struct lock *lock);

/* NULL is allowed. */
void lock_free(struct lock *lock);

#endif
