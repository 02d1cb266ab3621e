/*
 * Makes a lock for a contender, or for what a process that died has left of one; and frees it.
 */
#include "lock/lock.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "ensemble/acl.h"
#include "ensemble/znode.h"
#include "lock/lock_parts.h"

int lock_first_tag(int index)
{
    return index * TAG_LIMIT;
}

static struct lock *create(struct session *session, int index, const char *path)
{
    struct lock *lock = xcalloc(1, sizeof(*lock));

    lock->session = session;
    lock->path = xstrdup(path);
    lock->tag_base = lock_first_tag(index);
    flight_forget(lock);
    return lock;
}

/* The znode above a semaphore that is called like a part of one; NULL: it is not. */
static char *outer_path(const char *semaphore)
{
    const char *last = strrchr(semaphore, '/');

    return last > semaphore && strcmp(last + 1, RECIPE_SEMAPHORE_LOCKS) == 0
               ? znode_above(semaphore)
               : NULL;
}

struct lock *lock_new(struct session *session, int index, const char *path,
                      const struct lock_terms *terms)
{
    struct lock *lock = create(session, index, path);

    lock->record.lease_ms = terms->lease / CLOCK_MS;
    lock->terms = *terms;
    if (terms->above != LOCK_ABOVE_ANY)
        lock->above_path = znode_above(path);
    if (terms->above == LOCK_ABOVE_NO_LOCK)
        lock->outer_path = outer_path(lock->above_path);
    lock_renew_guid(lock);
    step_join(lock); /* sent with the handshake */
    lock_check(lock);
    return lock;
}

struct lock *lock_resume(struct session *session, int index, const char *path, const char *guid,
                         const char *node)
{
    struct lock *lock = create(session, index, path);

    strncpy(lock->guid, guid, sizeof(lock->guid) - 1);
    /* Of a name without the GUID it has to be found out again and again whose it is. */
    lock->terms.kind = *guid ? NAMING_MUTEX : NAMING_UNFAIR;
    if (*guid)
        lock->step = STEP_SWEEP;
    else if (*node)
        lock->step = STEP_CLAIM;
    else
        lock->step = STEP_END; /* what there may be goes when the session is ended */
    if (!*guid && *node)
        lock->node = xstrdup(node);
    lock->phase = LOCK_LEAVING;
    lock->leaving = true;
    lock->sweeping = *guid != '\0';
    lock->retry = true; /* once there is contact */
    lock_check(lock);
    return lock;
}

void lock_free(struct lock *lock)
{
    if (!lock)
        return;
    free(lock->path);
    free(lock->above_path);
    free(lock->outer_path);
    free(lock->node);
    free(lock->predecessor);
    acl_free(lock->acl.list);
    free(lock->failure_text);
    free(lock);
}
