/*
 * A permit of a semaphore, in the layout of Curator's InterProcessSemaphoreV2, so that both count
 * together: below the semaphore's znode "leases" holds a child for each permit that is taken, and
 * "locks" is a lock under which one at a time takes a permit.  So only one ever waits for a permit
 * to come free, and a release wakes one.
 */
#include "lock/lock_parts.h"

bool permit_left(const struct lock *lock)
{
    return lock_permits_taken(lock) <= (size_t)lock->terms.permits;
}

void permit_consider(struct lock *lock)
{
    if (!permit_left(lock)) {
        lock->place.ahead = lock_permits_taken(lock) - (size_t)lock->terms.permits;
        lock->phase = LOCK_WAITING;
        lock->waited = true;
        step_verify_later(lock);
        step_count(lock);
    } else if (lock->waited) {
        step_prove(lock);
    } else {
        count_consider(lock); /* the create is the proof */
    }
}

void permit_counted(struct lock *lock)
{
    if (lock->rc[TAG_CHILDREN] != ZOK)
        leave_because_rc(lock, lock->rc[TAG_CHILDREN], "list", lock->path);
    else if (lock->rc[TAG_PARENT] != ZOK)
        leave_because_rc(lock, lock->rc[TAG_PARENT], "read", lock->path);
    else if (permit_left(lock))
        step_prove(lock);
    else if (lock->changed_meanwhile)
        step_count(lock); /* the watch has fired, and the count may be from before */
    else
        lock->step = STEP_NONE; /* until the watch fires */
}
