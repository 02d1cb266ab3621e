#include <inttypes.h>
#include <string.h>

#include "admin/remove_state.h"
#include "base/clock.h"
#include "base/exitcode.h"
#include "base/lease.h"
#include "base/xalloc.h"
#include "lock/note.h"
#include "lock/recipe.h"

/* ---- reading the parts ---- */

bool remove_stop(struct removal *removal, int status)
{
    removal->status = status;
    return false;
}

/* The tag of the request for its children; for its data it comes PARTS later. */
static int tag_of(int part)
{
    return lock_first_tag(1) + part;
}

static void add_stranger(struct removal *removal, int part, const char *child)
{
    const char *below = part == PART_LOCKS    ? RECIPE_SEMAPHORE_LOCKS "/"
                        : part == PART_LEASES ? RECIPE_SEMAPHORE_LEASES "/"
                                              : "";

    if (removal->parts[part].strangers++ == 0)
        xreplace(&removal->parts[part].stranger, xasprintf("%s%s", below, child));
}

static void take_list(struct removal *removal, int part, const struct session_event *event)
{
    int32_t sequence;

    removal->parts[part].list_rc = event->rc;
    for (size_t i = 0; event->rc == ZOK && i < event->children_len; i++) {
        const char *child = event->children[i];

        if (part != PART_NOTE && recipe_sequence(child, &sequence))
            removal->contenders += part == PART_LOCK;
        else if (part == PART_LOCK && strcmp(child, RECIPE_SEMAPHORE_LEASES) == 0)
            removal->has_leases = true;
        else if (part == PART_LOCK && strcmp(child, RECIPE_SEMAPHORE_LOCKS) == 0)
            removal->has_locks = true;
        else
            add_stranger(removal, part, child);
    }
}

static void take_data(struct removal *removal, int index, const struct session_event *event)
{
    struct part *part = &removal->parts[index];
    int64_t began;

    part->rc = event->rc;
    part->stat = event->stat;
    part->has_record =
        event->rc == ZOK && record_decode(event->data, event->data_len, &part->record);
    if (event->rc == ZOK && index == PART_NOTE)
        removal->is_note = note_decode(event->data, event->data_len, &began);
}

/* Locks may have the names of a semaphore's parts. */
static bool has_semaphore(const struct removal *removal)
{
    if (removal->has_leases && removal->parts[PART_LEASES].has_record)
        return removal->parts[PART_LEASES].record.permits > 0;
    return removal->has_leases && removal->has_locks;
}

/* Lock or semaphore: that stays as it is once the lock is asked for. */
static void find_kind(struct removal *removal)
{
    if (!removal->lock)
        removal->semaphore = has_semaphore(removal);
    if (removal->semaphore)
        return;
    removal->parts[PART_LOCKS].strangers = removal->parts[PART_LEASES].strangers = 0;
    if (removal->has_leases)
        add_stranger(removal, PART_LOCK, RECIPE_SEMAPHORE_LEASES);
    if (removal->has_locks)
        add_stranger(removal, PART_LOCK, RECIPE_SEMAPHORE_LOCKS);
}

static void take_reply(struct removal *removal, const struct session_event *event)
{
    int part = event->tag - tag_of(0);

    if (part < 0 || part >= PART_TAGS)
        return;
    removal->pending--;
    removal->unanswered |= session_rc_unknown(event->rc);
    if (part < PARTS)
        take_list(removal, part, event);
    else
        take_data(removal, part - PARTS, event);
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

    removal->pending = PART_ABOVE + PARTS;
    removal->unanswered = removal->has_leases = removal->has_locks = false;
    removal->contenders = 0;
    for (int part = 0; part < PART_ABOVE; part++) {
        removal->parts[part].strangers = 0;
        session_get_children(session, tag_of(part), removal->parts[part].path, SESSION_NO_WATCH);
    }
    for (int part = 0; part < PARTS; part++)
        session_get(session, tag_of(PARTS + part), removal->parts[part].path, SESSION_NO_WATCH);
}

/* Reads all parts anew. */
static bool read_all(struct removal *removal)
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

/* ---- what keeps the lock from being removed ---- */

bool remove_refuse_used(struct removal *removal, size_t others, const char *who)
{
    const char *lock = removal->options->lock;

    if (!who && outlook_known(removal->outlook))
        who = outlook_holder(removal->outlook);
    if (!who || !*who)
        who = "another client";
    if (others == 1)
        log_notice("%s is not removed: it is in use, by %s", lock, who);
    else
        log_notice("%s is not removed: %zu contenders use it, the first is %s", lock, others, who);
    return remove_stop(removal, EXITCODE_BUSY);
}

bool remove_refuse_unsettled(struct removal *removal, bool vanished, int64_t lease)
{
    char span[CLOCK_FORMAT_SIZE];

    log_notice("%s is not removed: %s, and its command may run for a lease, %s; -w %" PRId64
               " waits for that",
               removal->options->lock,
               vanished ? "a holder vanished" : "it is not known who held it before",
               clock_format(lease, span), lease / CLOCK_S + 1);
    return remove_stop(removal, EXITCODE_BUSY);
}

static struct recipe_census census_of(const struct part *part)
{
    return (struct recipe_census){.version = part->stat.version,
                                  .cversion = part->stat.cversion,
                                  .children = part->stat.numChildren};
}

static bool is_same_census(const struct recipe_census *a, const struct recipe_census *b)
{
    return a->version == b->version && a->cversion == b->cversion && a->children == b->children;
}

/* Returns false if a holder may have vanished there that nobody has waited for. */
static bool is_settled(const struct removal *removal, int index)
{
    const struct part *part = &removal->parts[index];
    struct recipe_census census = census_of(part);

    if (part->rc != ZOK)
        return true;
    if (part->has_record)
        return recipe_vanished(census, part->record.base) == 0;
    /* Contenders that take permits are not counted there; a lock of that name has a record. */
    if (index == PART_LOCKS || recipe_departed(census) == 0)
        return true;
    /* Locks that are refused count themselves out in the semaphore's own znode without a record. */
    return index == PART_LOCK && recipe_vanished(census, 0) == 0;
}

/*
 * Returns the longest lease that a vanished holder can have had there.  Without a record, a holder
 * that may not write one has the default.  A record that was lost may have named a longer one,
 * which the record of the lock for taking permits may still name, or a config file.
 */
static int64_t lease_of(const struct removal *removal, const struct part *part)
{
    int64_t lease = removal->options->new_lease;

    if (part->has_record)
        return part->record.lease_ms * CLOCK_MS;
    if (lease < lock_lease(removal->lock))
        lease = lock_lease(removal->lock);
    return lease < LEASE_DEFAULT ? LEASE_DEFAULT : lease;
}

static bool refuse_users(struct removal *removal)
{
    const struct part *leases = &removal->parts[PART_LEASES];
    size_t users = removal->contenders + (leases->rc == ZOK ? (size_t)leases->stat.numChildren : 0);
    int64_t deadline = clock_now() + OUTLOOK_PATIENCE;

    if (users == 0)
        return true;
    outlook_look(removal->outlook, leases->path, 1, removal->options->lock, NULL);
    while (!outlook_known(removal->outlook) && clock_now() < deadline)
        if (!remove_pump(removal, deadline))
            return false;
    return remove_refuse_used(removal, users, NULL);
}

/*
 * Waits one lease, after which the commands of vanished holders have ended.  No holders come while
 * the lock is held: neither of permits nor, beside a semaphore, of locks.
 */
static bool settle(struct removal *removal)
{
    struct recipe_census before[PARTS_HELD];
    int64_t lease = 0;
    bool known = true;

    for (int i = 0; i < PARTS_HELD; i++) {
        const struct part *part = &removal->parts[i];

        before[i] = census_of(part);
        if (is_settled(removal, i))
            continue;
        known = known && part->has_record;
        if (lease < lease_of(removal, part))
            lease = lease_of(removal, part);
    }
    if (lease == 0)
        return true;

    int64_t settled_at = clock_now() + lease;

    if (settled_at > removal->wait_until)
        return remove_refuse_unsettled(removal, known, lease);
    while (clock_now() < settled_at)
        if (!remove_pump(removal, settled_at))
            return false;
    if (!remove_check_nested(removal))
        return false;
    for (int i = 0; i < PARTS_HELD; i++) {
        struct recipe_census now = census_of(&removal->parts[i]);

        if (!is_same_census(&before[i], &now))
            return remove_refuse_used(removal, 1, "another client");
    }
    return true;
}

/* ---- what is removed with it ---- */

static void also(struct removal *removal, int part)
{
    removal->others[removal->others_len++] = (struct lock_znode){
        .path = removal->parts[part].path, .version = removal->parts[part].stat.version};
}

/*
 * Counts the lock, and the note, out of the lock that they are in: else each would look like a
 * holder of that one that vanished.
 */
static void count_out(struct removal *removal, int32_t times)
{
    const struct part *above = &removal->parts[PART_ABOVE];

    if (!above->has_record)
        return;
    record_encode(&above->record, removal->record_above);
    for (int32_t i = 0; i < times; i++)
        removal->others[removal->others_len++] =
            (struct lock_znode){.path = above->path,
                                .version = above->stat.version + i,
                                .record = removal->record_above};
}

static bool refuse_unread(struct removal *removal)
{
    for (int part = 0; part < PARTS; part++) {
        int rc = removal->parts[part].rc;

        if (rc == ZOK || rc == ZNONODE)
            rc = removal->parts[part].list_rc;
        if (rc == ZOK || rc == ZNONODE)
            continue;
        if (part == PART_ABOVE || (part == PART_LOCKS && !removal->semaphore))
            continue; /* it is not a lock of ours, then */
        return remove_stop(removal, admin_failed(rc, "read", removal->parts[part].path));
    }
    return true;
}

bool remove_has_note(const struct removal *removal)
{
    return removal->parts[PART_NOTE].rc == ZOK && removal->is_note;
}

bool remove_check_nested(struct removal *removal)
{
    if (!read_all(removal) || !refuse_unread(removal))
        return false;
    for (int i = 0; i < PART_ABOVE; i++) {
        const struct part *part = &removal->parts[i];

        if (part->strangers == 0 || (i == PART_NOTE && !remove_has_note(removal)))
            continue;
        log_notice("%s is not removed: below %s are znodes that are no contenders, perhaps locks: "
                   "%s%s",
                   removal->options->lock, i == PART_NOTE ? part->path : "it", part->stranger,
                   part->strangers > 1 ? ", ..." : "");
        return remove_stop(removal, EXITCODE_BUSY);
    }
    return true;
}

bool remove_gather(struct removal *removal)
{
    removal->others_len = 0;
    if (!remove_check_nested(removal))
        return false;
    if (removal->semaphore) {
        if (!refuse_users(removal) || !settle(removal))
            return false;
        if (removal->parts[PART_LEASES].rc == ZOK)
            also(removal, PART_LEASES);
        also(removal, PART_LOCK);
    }
    if (remove_has_note(removal))
        also(removal, PART_NOTE);
    count_out(removal, remove_has_note(removal) ? 2 : 1);
    return true;
}
