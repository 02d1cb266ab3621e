/*
 * Reads the parts of a lock that is to be removed, beside what the lock itself reads.
 */
#include <string.h>

#include "admin/remove_state.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "lock/note.h"
#include "lock/recipe.h"

bool remove_stop(struct removal *removal, int status)
{
    removal->status = status;
    return false;
}

static int tag_of(enum part part)
{
    return lock_first_tag(1) + (int)part;
}

static void add_stranger(struct removal *removal, enum part part, const char *child)
{
    const char *below = part == PART_QUEUED   ? RECIPE_SEMAPHORE_LOCKS "/"
                        : part == PART_LEASED ? RECIPE_SEMAPHORE_LEASES "/"
                                              : "";

    if (removal->strangers[part].count++ == 0)
        xreplace(&removal->strangers[part].first, xasprintf("%s%s", below, child));
}

static void take_children(struct removal *removal, enum part part,
                          const struct session_event *event)
{
    int32_t sequence;

    for (size_t i = 0; i < event->children_len; i++) {
        const char *child = event->children[i];

        if (part != PART_NOTED && recipe_sequence(child, &sequence))
            removal->contenders += part == PART_CHILDREN;
        else if (part == PART_CHILDREN && strcmp(child, RECIPE_SEMAPHORE_LEASES) == 0)
            removal->has_leases = true;
        else if (part == PART_CHILDREN && strcmp(child, RECIPE_SEMAPHORE_LOCKS) == 0)
            removal->has_locks = true;
        else
            add_stranger(removal, part, child);
    }
}

/* Locks may have the names of a semaphore's parts. */
static bool has_semaphore(const struct removal *removal)
{
    if (removal->has_leases && removal->has_record[PART_LEASES])
        return removal->record[PART_LEASES].permits > 0;
    return removal->has_leases && removal->has_locks;
}

/* Lock or semaphore: that stays as it is once the lock is asked for. */
static void find_kind(struct removal *removal)
{
    if (!removal->lock)
        removal->semaphore = has_semaphore(removal);
    if (removal->semaphore)
        return;
    removal->strangers[PART_QUEUED].count = removal->strangers[PART_LEASED].count = 0;
    if (removal->has_leases)
        add_stranger(removal, PART_CHILDREN, RECIPE_SEMAPHORE_LEASES);
    if (removal->has_locks)
        add_stranger(removal, PART_CHILDREN, RECIPE_SEMAPHORE_LOCKS);
}

static void take_above(struct removal *removal)
{
    removal->record_above[0] = '\0';
    if (removal->has_record[PART_ABOVE])
        record_encode(&removal->record[PART_ABOVE], removal->record_above);
}

static void take_reply(struct removal *removal, const struct session_event *event)
{
    int part = event->tag - tag_of(0);
    int64_t began;

    if (part < 0 || part >= PART_COUNT)
        return;
    removal->pending--;
    removal->unanswered |= session_rc_unknown(event->rc);
    removal->rc[part] = event->rc;
    removal->stat[part] = event->stat;
    removal->has_record[part] =
        event->rc == ZOK && record_decode(event->data, event->data_len, &removal->record[part]);
    if (event->rc != ZOK)
        return;
    if (part < PART_LISTS)
        take_children(removal, (enum part)part, event);
    else if (part == PART_NOTE)
        removal->is_note = note_decode(event->data, event->data_len, &began);
    else if (part == PART_ABOVE)
        take_above(removal);
}

bool remove_pump(struct removal *removal, int64_t deadline)
{
    enum admin_news news;
    struct session_event event;

    if (removal->lock)
        deadline = clock_earlier(deadline, lock_tick(removal->lock));
    news = admin_next(&removal->admin, deadline, &event);
    if (news == ADMIN_ENDED)
        return remove_stop(removal, admin_ended(&removal->admin));
    if (news != ADMIN_EVENT)
        return true;
    if (removal->lock)
        lock_handle(removal->lock, &event);
    if (removal->outlook)
        outlook_handle(removal->outlook, &event);
    if (event.type == SESSION_REPLY)
        take_reply(removal, &event);
    return true;
}

static void ask_for_all(struct removal *removal)
{
    struct session *session = removal->admin.session;

    removal->pending = PART_COUNT;
    removal->unanswered = removal->has_leases = removal->has_locks = false;
    removal->contenders = 0;
    for (int part = 0; part < PART_COUNT; part++) {
        const char *path = removal->path[part];

        if (part < PART_LISTS) {
            removal->strangers[part].count = 0;
            session_get_children(session, tag_of((enum part)part), path, SESSION_NO_WATCH);
        } else {
            session_get(session, tag_of((enum part)part), path, SESSION_NO_WATCH);
        }
    }
}

bool remove_read(struct removal *removal)
{
    int64_t deadline = clock_add(clock_now(), removal->options->connect_timeout);

    ask_for_all(removal);
    while (removal->pending > 0 || removal->unanswered) {
        if (clock_now() >= deadline)
            return remove_stop(removal, admin_silent(&removal->admin));
        if (removal->pending == 0 && session_connected(removal->admin.session))
            ask_for_all(removal);
        if (!remove_pump(removal, deadline))
            return false;
    }
    find_kind(removal);
    return true;
}
