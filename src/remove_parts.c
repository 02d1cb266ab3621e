#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "fault.h"
#include "lease.h"
#include "note.h"
#include "remove_state.h"
#include "xalloc.h"

/* ---- questions beside the lock's ---- */

static int tag_of(enum part part)
{
    return lock_first_tag(1) + (int)part;
}

static void take_children(struct removal *removal, const struct session_event *event)
{
    int32_t sequence;

    removal->contenders = removal->nested = 0;
    removal->has_leases = removal->has_locks = false;
    for (size_t i = 0; i < event->children_len; i++) {
        const char *child = event->children[i];

        if (recipe_sequence(child, &sequence))
            removal->contenders++;
        else if (strcmp(child, RECIPE_SEMAPHORE_LEASES) == 0)
            removal->has_leases = true;
        else if (strcmp(child, RECIPE_SEMAPHORE_LOCKS) == 0)
            removal->has_locks = true;
        else if (removal->nested++ == 0)
            xreplace(&removal->nested_name, xstrdup(child));
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
    if (removal->has_leases && removal->nested++ == 0)
        xreplace(&removal->nested_name, xstrdup(RECIPE_SEMAPHORE_LEASES));
    if (removal->has_locks && removal->nested++ == 0)
        xreplace(&removal->nested_name, xstrdup(RECIPE_SEMAPHORE_LOCKS));
}

static void take_above(struct removal *removal, const struct session_event *event)
{
    struct record record;

    removal->record_above[0] = '\0';
    if (record_decode(event->data, event->data_len, &record))
        record_encode(&record, removal->record_above);
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
    removal->has_record[part] = event->rc == ZOK && (part == PART_LOCK || part == PART_LEASES) &&
                                record_decode(event->data, event->data_len, &removal->record[part]);
    if (event->rc != ZOK)
        return;
    if (part == PART_CHILDREN)
        take_children(removal, event);
    else if (part == PART_NOTE)
        removal->is_note = note_decode(event->data, event->data_len, &began);
    else if (part == PART_ABOVE)
        take_above(removal, event);
}

static void ask_for_all(struct removal *removal)
{
    struct session *session = removal->admin.session;
    const char *lock = removal->options->lock;

    removal->pending = PART_COUNT;
    removal->unanswered = false;
    session_get_children(session, tag_of(PART_CHILDREN), lock, SESSION_NO_WATCH);
    session_get(session, tag_of(PART_NOTE), removal->note, SESSION_NO_WATCH);
    session_get(session, tag_of(PART_ABOVE), removal->above, SESSION_NO_WATCH);
    session_get(session, tag_of(PART_LOCK), lock, SESSION_NO_WATCH);
    session_get(session, tag_of(PART_LEASES), removal->leases, SESSION_NO_WATCH);
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
    if (recipe_departed(census) == 0)
        return true;
    /* In a semaphore's own znode locks that are refused count themselves out, without a record. */
    return part == PART_LOCK && recipe_vanished(census, 0) == 0;
}

/*
 * The longest lease that somebody who vanished there can have had.  Without a record a holder that
 * may not write one has the default.  A record that was lost may have told of a longer one, which
 * those who made the lock for the permits have put there too; or a config file tells it.
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

static const enum part used[] = {PART_LEASES, PART_LOCK};

enum { USED = sizeof(used) / sizeof(used[0]) };

static size_t count_users(const struct removal *removal)
{
    return removal->contenders +
           (removal->rc[PART_LEASES] == ZOK ? (size_t)removal->stat[PART_LEASES].numChildren : 0);
}

static bool refuse_users(struct removal *removal)
{
    return count_users(removal) == 0 ||
           remove_refuse_used(removal, count_users(removal), "another client");
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

        if (rc == ZOK || rc == ZNONODE || part == PART_ABOVE)
            continue; /* what is above is no lock of ours then */
        sentence = fault_sentence(rc, "read",
                                  part == PART_NOTE     ? removal->note
                                  : part == PART_LEASES ? removal->leases
                                                        : removal->options->lock);
        log_error("%s", sentence);
        free(sentence);
        return remove_stop(removal, (int)fault_status(rc));
    }
    return true;
}

bool remove_check_nested(struct removal *removal)
{
    const char *lock = removal->options->lock;

    if (!read_all(removal) || !refuse_unread(removal))
        return false;
    if (removal->nested > 0) {
        log_notice("%s is not removed: below it are znodes that are no contenders, locks perhaps: "
                   "%s%s",
                   lock, removal->nested_name, removal->nested > 1 ? ", ..." : "");
        return remove_stop(removal, EXITCODE_BUSY);
    }
    return true;
}

bool remove_has_note(const struct removal *removal)
{
    return removal->rc[PART_NOTE] == ZOK && removal->is_note;
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
