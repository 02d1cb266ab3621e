/*
 * The answers about the znodes above the lock's, and about those that may be permits of kazoo's.
 */
#include "lock/lock_parts.h"

#include <stdlib.h>

#include "base/xalloc.h"

void above_ask_kazoo(struct lock *lock, const struct session_event *list, const char *path,
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

bool above_is_kazoo(const struct session_event *event)
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
        above_ask_kazoo(lock, event, lock->above_path, TAG_ABOVE_KAZOO);
}

/* kazoo writes into an idle Semaphore how many may hold it at once. */
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

void above_note(struct lock *lock, const struct session_event *event)
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
        above->is_kazoo_semaphore |= above_is_kazoo(event);
        break;
    default:
        break;
    }
}
