/*
 * One contender for one lock or semaphore: the protocol, as a state machine without a
 * clock or a loop of its own.
 *
 *     lock_new()
 *     for every event of the session: lock_handle(); when it is due: lock_tick()
 *     until lock_phase() says what the caller waits for
 *     lock_prove() at intervals while it is held
 *     lock_leave(), at any time before or while it is held; events until LOCK_LEFT
 *         or lock_remove(), while it is held
 *     lock_free()
 *
 * To stop half-way without lock_leave() is safe too: the znode goes with the session, and the next
 * holder waits one lease because nobody counted the departure.  One thread; see session.h.
 */
#ifndef ZKFLOCK_LOCK_H
#define ZKFLOCK_LOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/exitcode.h"
#include "ensemble/session.h"
#include "lock/naming.h"

struct lock;

enum lock_phase {
    LOCK_JOINING,  /* not in the queue yet, as far as is known */
    LOCK_WAITING,  /* in the queue, behind others */
    LOCK_SETTLING, /* first, but a holder vanished: its command may run until its lease ends */
    LOCK_HELD,     /* proven; lock_proven_at() says when */
    LOCK_LEAVING,  /* giving the place back */
    LOCK_LEFT,     /* nothing of us is left */
    LOCK_LOST,     /* the znode or the session went away while the lock was held */
    LOCK_OUT,      /* the place is gone with the session, or has to go: start over in a new one */
};

/* What the znode above the lock's must not be. */
enum lock_above {
    LOCK_ABOVE_ANY,
    LOCK_ABOVE_NO_SEMAPHORE, /* of a lock that is called like a part of one */
    LOCK_ABOVE_NO_LOCK,      /* of the two parts of a semaphore: the turn, and the permits */
};

/* What a contender brings along, ns. */
struct lock_terms {
    int64_t lease; /* of a lock that it has to make */
    int64_t delay; /* how long it waits for a holder that vanished; LEASE_OWN_DELAY, or 0 */
    enum naming_kind kind;
    struct naming naming; /* its prefix has to live as long as the lock */
    int32_t permits;      /* NAMING_PERMIT: how many may be held; else 0 */
    const char *around;   /* the znode held by a zkflock around this one; NULL: nobody minds */
    enum lock_above above;
    /*
     * Permits are taken under it, one at a time.  No command runs under it, so nobody waits for one
     * who vanished from it: it needs neither a lease nor a count, and is made without a record.
     */
    bool turn;
    bool waits; /* it may wait, so early proofs are worth their writes */
};

/*
 * The first tag of the requests of the lock with this index, which keeps to those below the next
 * one's.
 */
int lock_first_tag(int index);

/*
 * A contender for the lock at path, an absolute znode path.  Its first requests are queued at once
 * and go out with the session's handshake.  The session has to live as long.  index, from 0, is
 * another for each lock of the session.
 */
struct lock *lock_new(struct session *session, int index, const char *path,
                      const struct lock_terms *terms);

/*
 * Gives back what a process that died left in the queue of path in its session, which has been
 * resumed: LOCK_LEAVING, until LOCK_LEFT.  guid and node are as lock_guid() and lock_node() told;
 * empty where there was none.
 */
struct lock *lock_resume(struct session *session, int index, const char *path, const char *guid,
                         const char *node);

/*
 * The own znodes' GUID, LOCK_GUID_SIZE with its end, which changes with every new place in the
 * queue; empty if their names do not carry one.
 */
#define LOCK_GUID_SIZE 33
const char *lock_guid(const struct lock *lock);

/* Takes an event of the session, every one of them. */
void lock_handle(struct lock *lock, const struct session_event *event);

/* Does what is due by the clock; returns when to call again, CLOCK_NEVER if nothing will be. */
int64_t lock_tick(struct lock *lock);

/*
 * Sends a proof of life: a write that the ensemble commits only while the own znode is there.
 * Does nothing while there is no contact or the lock is not held.
 */
void lock_prove(struct lock *lock);

/* Gives the place in the queue back, or the lock.  Does nothing on a second call. */
void lock_leave(struct lock *lock);

/*
 * Has lock_leave() delete the lock's znode too, if this contender made it and nobody else stands
 * there: for a semaphore that is refused.  Only while the turn that was taken first is held: those
 * who take a permit later may vanish there, and their count would go with the znode.
 */
void lock_unmake(struct lock *lock);

/* Another znode, as it was read. */
struct lock_znode {
    const char *path;
    int32_t version;
    const char *record; /* the lock's whose child goes: to be set, which counts it out; NULL: to be
                           deleted */
};

/*
 * Instead of lock_leave(), while an exclusive one is held: deletes the lock's znode with the own
 * one, and in the same transaction, in their order, deals with the others, count of them,
 * LOCK_OTHERS_MAX at the most, which have to live as long.  All or nothing: somebody else in the
 * queue keeps the lock.  LOCK_LEFT in the end; lock_failure() then says why nothing was deleted, if
 * so.  Or LOCK_HELD again, because one of the others has changed: it is to be read anew.
 */
#define LOCK_OTHERS_MAX 5
void lock_remove(struct lock *lock, const struct lock_znode *others, size_t count);

enum lock_phase lock_phase(const struct lock *lock);

/*
 * Returns the exit status for which the lock left on its own account, and *message, a sentence that
 * stays the lock's; 0 if it did not.
 */
enum exitcode lock_failure(const struct lock *lock, const char **message);

/* Contenders ahead, while LOCK_WAITING; as of the last list. */
size_t lock_ahead(const struct lock *lock);

/* While LOCK_SETTLING: when the lease of those who vanished will be over. */
int64_t lock_settled_at(const struct lock *lock);

/*
 * Returns the ensemble's time, ms since the epoch, as the own znode's time and the own clock tell
 * it; 0: not known.
 */
int64_t lock_ensemble_time(const struct lock *lock);

/* While held: the time before the last proof that succeeded was sent; the lease runs from it. */
int64_t lock_proven_at(const struct lock *lock);

/*
 * Returns who has asked, in the own znode's data, for the lock to be given up, as contender_who()
 * has it; NULL: nobody has.  Looked for while the lock is held, and known when it gets held.
 */
const char *lock_revoked(const struct lock *lock);

/*
 * The lease of this lock, ns; the one asked for until the lock's own is known, which is so in
 * every phase but LOCK_JOINING.
 */
int64_t lock_lease(const struct lock *lock);

const char *lock_path(const struct lock *lock);

/* The own znode's path; NULL before there is one. */
const char *lock_node(const struct lock *lock);

/* Returns true if the ensemble has confirmed that the own znode is deleted. */
bool lock_is_vacated(const struct lock *lock);

/* While it waits: returns true if only the predecessor is known to be ahead. */
bool lock_is_next(const struct lock *lock);

/*
 * Returns true if the lock's znode had other children when the own one was deleted: waiters, or
 * znodes that have nothing to do with the queue.  False if that is unknown.
 */
bool lock_is_awaited(const struct lock *lock);

/* The fencing token: the own znode's czxid, which grows with every later holder. */
int64_t lock_token(const struct lock *lock);

/* NULL is allowed. */
void lock_free(struct lock *lock);

#endif
