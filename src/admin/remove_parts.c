#include <stdlib.h>
#include <string.h>

#include "admin/remove_state.h"
#include "base/clock.h"
#include "base/lease.h"
#include "base/xalloc.h"
#include "ensemble/fault.h"
#include "lock/note.h"
#include "lock/recipe.h"

/* ---- questions beside the lock's ---- */

static int tag_of(enum part part)
{
    return lock_first_tag(1) + (int)part;
}

static const char *path_of(const struct removal *removal, enum part part)
{
    switch (part) {
    case PART_QUEUED:
    case PART_LOCKS:
        return removal->locks;
    case PART_LEASED:
    case PART_LEASES:
        return removal->leases;
    case PART_NOTED:
    case PART_NOTE:
        return removal->note;
    case PART_ABOVE:
        return removal->above;
    default:
        return removal->options->lock;
    }
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

/* Locks may be called like the parts of a semaphore. */
static bool has_semaphore(const struct removal *removal)
{
    if (removal->has_leases && removal->has_record[PART_LEASES])
        return removal->record[PART_LEASES].permits > 0;
    return removal->has_leases && removal->has_locks;
}

/* Which of the two it is does not change any more once the lock is asked for. */
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

void remove_take_reply(struct removal *removal, const struct session_event *event)
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

static void ask_for_all(struct removal *removal)
{
    struct session *session = removal->admin.session;

    removal->pending = PART_COUNT;
    removal->unanswered = removal->has_leases = removal->has_locks = false;
    removal->contenders = 0;
    for (int part = 0; part < PART_COUNT; part++) {
        const char *path = path_of(removal, (enum part)part);

        if (part < PART_LISTS) {
            removal->strangers[part].count = 0;
            session_get_children(session, tag_of((enum part)part), path, SESSION_NO_WATCH);
        } else {
            session_get(session, tag_of((enum part)part), path, SESSION_NO_WATCH);
        }
    }
}

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

/* ---- what goes with it ---- */

static struct recipe_census census_of(const struct removal *removal, enum part part)
{
    const struct Stat *stat = &removal->stat[part];

    return (struct recipe_census){
        .version = stat->version, .cversion = stat->cversion, .children = stat->numChildren};
}

static bool is_same_census(const struct recipe_census *a, const struct recipe_census *b)
{
    return a->version == b->version && a->cversion == b->cversion && a->children == b->children;
}

/* Whether a holder vanished there that nobody has waited for. */
static bool is_settled(const struct removal *removal, enum part part)
{
    struct recipe_census census = census_of(removal, part);

    if (removal->rc[part] != ZOK)
        return true;
    if (removal->has_record[part])
        return recipe_vanished(census, removal->record[part].base) == 0;
    /* Who takes permits is not counted there; a lock of that name has a record. */
    if (part == PART_LOCKS || recipe_departed(census) == 0)
        return true;
    /* In a semaphore's own znode locks that are refused count themselves out, without a record. */
    return part == PART_LOCK && recipe_vanished(census, 0) == 0;
}

/*
 * The longest lease that somebody who vanished there can have had.  Without a record a holder that
 * may not write one has the default.  A record that was lost may have told of a longer one, which
 * the record of the lock for taking permits may still tell, or a config file.
 */
static int64_t lease_of(const struct removal *removal, enum part part)
{
    int64_t lease = removal->options->new_lease;

    if (removal->has_record[part])
        return removal->record[part].lease_ms * CLOCK_MS;
    if (lease < lock_lease(removal->lock))
        lease = lock_lease(removal->lock);
    return lease < LEASE_DEFAULT ? LEASE_DEFAULT : lease;
}

/* What somebody may have held. */
static const enum part used[] = {PART_LEASES, PART_LOCK, PART_LOCKS};

enum { USED = sizeof(used) / sizeof(used[0]) };

static size_t count_users(const struct removal *removal)
{
    return removal->contenders +
           (removal->rc[PART_LEASES] == ZOK ? (size_t)removal->stat[PART_LEASES].numChildren : 0);
}

static bool refuse_users(struct removal *removal)
{
    int64_t deadline = clock_now() + OUTLOOK_PATIENCE;

    if (count_users(removal) == 0)
        return true;
    outlook_look(removal->outlook, removal->leases, removal->options->lock, NULL);
    while (!outlook_known(removal->outlook) && clock_now() < deadline)
        if (!remove_pump(removal, deadline))
            return false;
    return remove_refuse_used(removal, count_users(removal), NULL);
}

/*
 * Those who vanished have ended after a lease, and no more come while the lock is held: neither
 * permits nor, beside a semaphore, locks.
 */
static bool settle(struct removal *removal)
{
    struct recipe_census before[USED];
    int64_t lease = 0;
    bool known = true;

    for (int i = 0; i < USED; i++) {
        before[i] = census_of(removal, used[i]);
        if (is_settled(removal, used[i]))
            continue;
        known = known && removal->has_record[used[i]];
        if (lease < lease_of(removal, used[i]))
            lease = lease_of(removal, used[i]);
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
    for (int i = 0; i < USED; i++) {
        struct recipe_census now = census_of(removal, used[i]);

        if (!is_same_census(&before[i], &now))
            return remove_refuse_used(removal, 1, "another client");
    }
    return true;
}

static void also(struct removal *removal, const char *path, enum part part)
{
    removal->others[removal->others_len++] =
        (struct lock_znode){.path = path, .version = removal->stat[part].version};
}

/*
 * A lock that is gone from another one's znode would look like a holder of that one who vanished,
 * and so would a note.
 */
static void count_out(struct removal *removal, int32_t times)
{
    for (int32_t i = 0; removal->record_above[0] && i < times; i++)
        removal->others[removal->others_len++] =
            (struct lock_znode){.path = removal->above,
                                .version = removal->stat[PART_ABOVE].version + i,
                                .record = removal->record_above};
}

static bool refuse_unread(struct removal *removal)
{
    for (int part = 0; part < PART_COUNT; part++) {
        int rc = removal->rc[part];
        char *sentence;

        if (rc == ZOK || rc == ZNONODE)
            continue;
        if (part == PART_ABOVE ||
            ((part == PART_QUEUED || part == PART_LOCKS) && !removal->semaphore))
            continue; /* that is no lock of ours then */
        sentence = fault_sentence(rc, "read", path_of(removal, (enum part)part));
        log_error("%s", sentence);
        free(sentence);
        return remove_stop(removal, (int)fault_status(rc));
    }
    return true;
}

bool remove_has_note(const struct removal *removal)
{
    return removal->rc[PART_NOTE] == ZOK && removal->is_note;
}

bool remove_check_nested(struct removal *removal)
{
    if (!read_all(removal) || !refuse_unread(removal))
        return false;
    for (int part = 0; part < PART_LISTS; part++) {
        const struct strangers *strangers = &removal->strangers[part];

        if (strangers->count == 0 || (part == PART_NOTED && !remove_has_note(removal)))
            continue;
        log_notice("%s is not removed: below %s are znodes that are no contenders, locks perhaps: "
                   "%s%s",
                   removal->options->lock, part == PART_NOTED ? removal->note : "it",
                   strangers->first, strangers->count > 1 ? ", ..." : "");
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
        if (removal->rc[PART_LEASES] == ZOK)
            also(removal, removal->leases, PART_LEASES);
        also(removal, removal->options->lock, PART_LOCK);
    }
    if (remove_has_note(removal))
        also(removal, removal->note, PART_NOTE);
    count_out(removal, remove_has_note(removal) ? 2 : 1);
    return true;
}
