#include "lock/lock_parts.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "lock/contender.h"

void flight_forget(struct lock *lock)
{
    for (size_t tag = 0; tag < TAG_LIMIT; tag++)
        lock->rc[tag] = LOCK_NOT_ASKED;
    lock->unknown = lock->other_session = lock->ancestor_failed = false;
}

void flight_take_off(struct lock *lock, enum step step, unsigned int requests)
{
    flight_forget(lock);
    lock->step = step;
    lock->pending = requests;
    lock->retry = false;
    lock->sent = clock_now();
}

/* Says so once: somebody may wonder what they do there, or has misspelt a prefix. */
static void tell_of_strangers(struct lock *lock, const struct session_event *event)
{
    const char *first = NULL;
    size_t strangers = 0;
    int32_t sequence;

    if (lock->told_of_strangers)
        return;
    for (size_t i = 0; i < event->children_len; i++) {
        if (recipe_sequence(event->children[i], &sequence))
            continue;
        if (strangers++ == 0)
            first = event->children[i];
    }
    if (strangers == 0)
        return;
    lock->told_of_strangers = true;
    log_info("%s: %zu of its children are no contenders and are ignored: %s%s", lock->path,
             strangers, first, strangers > 1 ? ", ..." : "");
}

/* Keeps what is needed of the names in the list, which live only as long as the event. */
static void note_children(struct lock *lock, const struct session_event *event)
{
    const char *own = lock->node ? strrchr(lock->node, '/') + 1 : NULL;
    int32_t sequence;

    tell_of_strangers(lock, event);
    lock->place = (struct recipe_place){0};
    lock->listed = recipe_contenders(event->children, event->children_len);
    lock->listed_pzxid = event->stat.pzxid;
    lock->is_around = recipe_lists(event->children, event->children_len, lock->terms.around);
    lock->is_kazoo_semaphore = false;
    above_ask_kazoo(lock, event, lock->path, TAG_KAZOO);
    lock->is_semaphore = recipe_is_semaphore(event->children, event->children_len);
    for (size_t i = 0; !own && i < event->children_len; i++)
        if (strstr(event->children[i], lock->guid) &&
            recipe_sequence(event->children[i], &sequence))
            own = event->children[i];
    if (!own)
        return;
    if (!lock->node)
        lock->node = xasprintf("%s/%s", lock->path, own);
    lock->place = recipe_place(event->children, event->children_len, own);
    xreplace(&lock->predecessor, lock->place.predecessor
                                     ? xasprintf("%s/%s", lock->path, lock->place.predecessor)
                                     : NULL);
}

static void note_parent(struct lock *lock, const struct session_event *event)
{
    struct record record;

    lock->census = (struct recipe_census){.version = event->stat.version,
                                          .cversion = event->stat.cversion,
                                          .children = event->stat.numChildren};
    lock->mzxid = event->stat.mzxid;
    lock->parent_czxid = event->stat.czxid;
    lock->parent_aversion = event->stat.aversion;
    lock->pzxid = event->stat.pzxid;
    if (record_decode(event->data, event->data_len, &record)) {
        lock->record = record;
        lock->record_state = RECORD_OURS;
    } else if (event->data_len == 0) {
        lock->record_state = lock->terms.turn ? RECORD_NEEDLESS : RECORD_NONE;
        lock->record = (struct record){.lease_ms = lock_lease_without_record(lock)};
    } else {
        lock->record_state = RECORD_FOREIGN;
    }
}

void flight_note_answer(struct lock *lock, const struct session_event *event)
{
    lock->rc[event->tag] = event->rc;
    lock->failed_op = event->failed_op;
    switch (event->tag) {
    case TAG_ANCESTOR:
        /* Those above the lock may exist and refuse all the same; the last answer tells. */
        if (event->rc != ZOK && event->rc != ZNODEEXISTS && event->rc != ZNONODE) {
            lock->ancestor_failed = true;
            lock->ancestor_rc = event->rc;
            lock->ancestor_depth = lock->pending - 1;
        }
        lock->made = event->rc == ZOK;
        lock->made_czxid = event->stat.czxid;
        break;
    case TAG_ACL:
        own_acl_note(lock, event);
        break;
    case TAG_CREATE:
        if (event->rc == ZOK) {
            xreplace(&lock->node, xasprintf("%s/%s", lock->path, strrchr(event->path, '/') + 1));
            lock->ctime = event->stat.ctime;
            lock->created_at = clock_now();
            lock_note_own(lock, event);
        }
        break;
    case TAG_CHILDREN:
        if (event->rc == ZOK)
            note_children(lock, event);
        break;
    case TAG_KAZOO:
        lock->is_kazoo_semaphore |= above_is_kazoo(event);
        break;
    case TAG_OUTER:
    case TAG_ABOVE:
    case TAG_ABOVE_DATA:
    case TAG_ABOVE_KAZOO:
        above_note(lock, event);
        break;
    case TAG_PARENT:
        if (event->rc == ZOK)
            note_parent(lock, event);
        break;
    case TAG_OWN:
        if (event->rc == ZOK)
            lock_note_own(lock, event);
        break;
    case TAG_MULTI:
        if (event->rc == ZOK)
            lock->children_at_multi = event->stat.numChildren;
        break;
    case TAG_PREDECESSOR:
        if (event->rc == ZOK) {
            /* What a persistent znode says nobody keeps: it may be a copy. */
            lock->predecessor_holds = recipe_is_ephemeral(event->stat.ephemeralOwner) &&
                                      contender_holds_exclusively(event->data, event->data_len);
            lock->predecessor_owner = event->stat.ephemeralOwner;
            lock->predecessor_czxid = event->stat.czxid;
            lock->predecessor_version = event->stat.version;
        }
        break;
    default:
        break;
    }
}
