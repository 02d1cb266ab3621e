/*
 * Whether a znode is one that a lock, or a permit of a semaphore, can be taken at.
 *
 * A lock and a semaphore exclude each other on one path.  A lock sees the znode of the permits
 * among the children of its own.  A semaphore looks at the znode above its two: at those who stand
 * there, at the record that a lock has, and at those who left without being counted, since a
 * holder that vanished is in no list.  Each looks behind a write of its own that the other one
 * looks for, so that of two that come at the same time one sees the other.
 */
#include "lock/lock_state.h"

#include <stdlib.h>

#include "base/xalloc.h"

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
        leave_because(lock, EXITCODE_CONFIG, "%s is a lock and no place for permits", lock->path);
    else
        leave_because(lock, EXITCODE_CONFIG,
                      "%s has %d permits, not %d: all have to ask for the same number",
                      lock->above_path, lock->record.permits, lock->terms.permits);
}

/* Those who take permits there would wait for the command of whoever holds this. */
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

/* ---- what was read ---- */

void accept_ask_kazoo(struct lock *lock, const struct session_event *list, const char *path,
                      enum tag tag)
{
    for (size_t i = 0; i < list->children_len; i++) {
        if (!recipe_may_be_kazoo_permit(list->children[i]))
            continue;

        char *permit = xasprintf("%s/%s", path, list->children[i]);

        lock->pending++;
        session_exists(lock->session, lock_tag(lock, tag), permit);
        free(permit);
    }
}

bool accept_is_kazoo(const struct session_event *event)
{
    return event->rc == ZOK && recipe_is_ephemeral(event->stat.ephemeralOwner);
}

static void note_list(struct lock *lock, const struct session_event *event)
{
    if (event->rc != ZOK)
        return;
    lock->above.contenders = recipe_contenders(event->children, event->children_len);
    lock->above.is_semaphore = recipe_is_semaphore(event->children, event->children_len);
    lock->above.is_kazoo_semaphore = false;
    if (lock->terms.above == LOCK_ABOVE_NO_LOCK)
        accept_ask_kazoo(lock, event, lock->above_path, TAG_ABOVE_KAZOO);
}

/* How many may hold it at once is what kazoo writes into an idle Semaphore. */
static bool is_number(const char *data, size_t len)
{
    size_t digits = 0;

    while (digits < len && data[digits] >= '0' && data[digits] <= '9')
        digits++;
    return len > 0 && digits == len;
}

static void note_data(struct above *above, const struct session_event *event)
{
    const struct recipe_census census = {.version = event->stat.version,
                                         .cversion = event->stat.cversion,
                                         .children = event->stat.numChildren};
    struct record record;

    if (event->rc != ZOK)
        return;
    above->is_lock = record_decode(event->data, event->data_len, &record);
    above->is_kazoo_semaphore |= is_number(event->data, event->data_len);
    above->version = census.version;
    /*
     * No lock stands where the data is somebody else's, and what its version counts is not known.
     * Of a znode that never lost a child an administrator may have written the data.
     */
    above->vanished =
        event->data_len == 0 && recipe_departed(census) > 0 ? recipe_vanished(census, 0) : 0;
}

void accept_note_above(struct lock *lock, const struct session_event *event)
{
    struct above *above = &lock->above;
    bool no_lock = lock->terms.above == LOCK_ABOVE_NO_LOCK;

    switch (event->tag) {
    case TAG_OUTER:
        above->is_part =
            event->rc == ZOK && recipe_is_semaphore(event->children, event->children_len);
        break;
    case TAG_ABOVE:
        above->read = false;
        note_list(lock, event);
        break;
    case TAG_ABOVE_DATA:
        if (no_lock) /* else what left there is no business of this lock */
            note_data(above, event);
        /* The data is read behind.  No such znode: the step goes on with making it, and reads
         * again. */
        above->read = (event->rc == ZOK || event->rc == ZNONODE) &&
                      (lock->rc[TAG_ABOVE] == ZOK || lock->rc[TAG_ABOVE] == ZNONODE);
        break;
    case TAG_ABOVE_KAZOO:
        above->is_kazoo_semaphore |= accept_is_kazoo(event);
        break;
    default:
        break;
    }
}
