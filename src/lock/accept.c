/*
 * Decides whether a lock, or a permit of a semaphore, can be taken at a znode.
 *
 * A lock and a semaphore exclude each other on one path.  A lock sees the znode of the permits
 * among the children of its own.  A semaphore looks at the znode above its two: at those who stand
 * there, at the record that a lock has, and at those who left without being counted, since a
 * holder that vanished is in no list.  Each looks behind a write of its own that the other one
 * looks for, so that of two that come at the same time one sees the other.
 */
#include "lock/lock_parts.h"

static void leave_because_kazoo(struct lock *lock, const char *path)
{
    leave_because(lock, EXITCODE_CONFIG,
                  "%s is in use as a semaphore of kazoo's, which does not count zkflock in; "
                  "choose another LOCK",
                  path);
}

static void leave_because_permits(struct lock *lock)
{
    if (!lock->terms.permits)
        leave_because(lock, EXITCODE_CONFIG, "%s holds the permits of a semaphore; it is no lock",
                      lock->path);
    else if (!lock->record.permits)
        leave_because(lock, EXITCODE_CONFIG, "%s is a lock, and cannot hold permits", lock->path);
    else
        leave_because(lock, EXITCODE_CONFIG,
                      "%s has %d permits, not %d: all have to ask for the same number",
                      lock->above_path, lock->record.permits, lock->terms.permits);
}

/* Leaves if the znode is a part of a semaphore: takers of permits would wait for its holder. */
static bool is_free_of_semaphore(struct lock *lock, bool is_part, const char *path,
                                 const char *semaphore)
{
    if (!is_part)
        return true;
    lock_unmake(lock);
    leave_because(lock, EXITCODE_CONFIG, "%s is a part of the semaphore %s; choose another LOCK",
                  path, semaphore);
    return false;
}

bool accept_above(struct lock *lock)
{
    int rc = lock->rc[TAG_ABOVE] != ZOK ? lock->rc[TAG_ABOVE] : lock->rc[TAG_ABOVE_DATA];
    bool is_taken =
        lock->above.contenders > 0 || lock->above.is_lock || lock->above.is_kazoo_semaphore;

    if (lock->terms.above == LOCK_ABOVE_NO_SEMAPHORE)
        return is_free_of_semaphore(lock, lock->above.is_semaphore, lock->path, lock->above_path);
    if (!is_free_of_semaphore(lock, lock->above.is_part, lock->above_path, lock->outer_path))
        return false;
    if (lock->terms.above == LOCK_ABOVE_ANY || (lock->above.read && !is_taken))
        return true;
    lock_unmake(lock);
    if (!lock->above.read)
        leave_because_rc(lock, rc, "read", lock->above_path);
    else if (lock->above.is_kazoo_semaphore)
        leave_because_kazoo(lock, lock->above_path);
    else if (lock->above.contenders > 0)
        leave_because(lock, EXITCODE_CONFIG,
                      "%s is in use as a lock without --permits; leave that out, or choose another "
                      "LOCK",
                      lock->above_path);
    else
        leave_because(lock, EXITCODE_CONFIG,
                      "%s is a lock without permits; leave out --permits, or choose another LOCK, "
                      "or take that one away with --remove",
                      lock->above_path);
    return false;
}

bool accept_znode(struct lock *lock)
{
    if (!accept_above(lock))
        return false;
    if (lock->record_state == RECORD_FOREIGN)
        leave_because(lock, EXITCODE_CONFIG,
                      "%s holds data that is not zkflock's: it is no lock; choose another LOCK",
                      lock->path);
    else if (lock->is_kazoo_semaphore)
        leave_because_kazoo(lock, lock->path);
    else if (lock->is_semaphore)
        leave_because(lock, EXITCODE_CONFIG,
                      "%s is a semaphore; give --permits, or choose another LOCK, or take that one "
                      "away with --remove",
                      lock->path);
    else if (lock->record_state == RECORD_OURS && lock->record.permits != lock->terms.permits)
        leave_because_permits(lock);
    else if (recipe_exhausted(lock->node))
        leave_because(lock, EXITCODE_CONFIG,
                      "%s has used up its sequence numbers (2^31 contenders); remove that znode or "
                      "choose another LOCK",
                      lock->path);
    else
        return true;
    return false;
}
