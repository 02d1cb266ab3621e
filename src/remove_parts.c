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

    removal->nested = 0;
    for (size_t i = 0; i < event->children_len; i++) {
        const char *child = event->children[i];

        if (recipe_sequence(child, &sequence) ||
            (removal->semaphore && (strcmp(child, RECIPE_SEMAPHORE_LEASES) == 0 ||
                                    strcmp(child, RECIPE_SEMAPHORE_LOCKS) == 0)))
            continue;
        if (removal->nested++ == 0)
            xreplace(&removal->nested_name, xstrdup(child));
    }
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
    if (event->rc != ZOK)
        return;
    if (part == PART_CHILDREN)
        take_children(removal, event);
    else if (part == PART_NOTE)
        removal->is_note = note_decode(event->data, event->data_len, &began);
    else if (part == PART_ABOVE)
        take_above(removal, event);
    else if (part == PART_LEASES)
        removal->has_record = record_decode(event->data, event->data_len, &removal->record);
}

static void ask_for_all(struct removal *removal)
{
    struct session *session = removal->admin.session;
    const char *lock = removal->options->lock;

    removal->pending = removal->semaphore ? 5 : 3;
    removal->unanswered = false;
    session_get_children(session, tag_of(PART_CHILDREN), lock, SESSION_NO_WATCH);
    session_get(session, tag_of(PART_NOTE), removal->note, SESSION_NO_WATCH);
    session_get(session, tag_of(PART_ABOVE), removal->above, SESSION_NO_WATCH);
    if (removal->semaphore) {
        session_get(session, tag_of(PART_LOCK), lock, SESSION_NO_WATCH);
        session_get(session, tag_of(PART_LEASES), removal->leases, SESSION_NO_WATCH);
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
    return true;
}

/* ---- what goes with it ---- */

static struct recipe_census census_of_leases(const struct removal *removal)
{
    const struct Stat *stat = &removal->stat[PART_LEASES];

    return (struct recipe_census){
        .version = stat->version, .cversion = stat->cversion, .children = stat->numChildren};
}

static bool is_same_census(const struct recipe_census *a, const struct recipe_census *b)
{
    return a->version == b->version && a->cversion == b->cversion && a->children == b->children;
}

/* Whether a holder of a permit vanished that nobody has waited for. */
static bool are_leases_settled(const struct removal *removal)
{
    return removal->has_record &&
           recipe_vanished(census_of_leases(removal), removal->record.base) == 0;
}

static int64_t lease_of_permits(const struct removal *removal)
{
    return removal->has_record ? removal->record.lease_ms * CLOCK_MS : LEASE_DEFAULT;
}

/* While the lock is held nobody takes a permit: those who vanished have ended after a lease. */
static bool settle_leases(struct removal *removal)
{
    struct recipe_census before = census_of_leases(removal);
    int64_t settled_at = clock_now() + lease_of_permits(removal);

    if (settled_at > removal->wait_until)
        return remove_refuse_unsettled(removal, removal->has_record, lease_of_permits(removal));
    while (clock_now() < settled_at)
        if (!remove_pump(removal, settled_at))
            return false;
    if (!read_all(removal))
        return false;

    struct recipe_census now = census_of_leases(removal);

    return removal->rc[PART_LEASES] == ZOK && is_same_census(&before, &now)
               ? true
               : remove_refuse_used(removal, 1, "another client");
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
    if (removal->semaphore && removal->rc[PART_LEASES] == ZOK) {
        if (removal->stat[PART_LEASES].numChildren > 0)
            return remove_refuse_used(removal, (size_t)removal->stat[PART_LEASES].numChildren,
                                      "another client");
        if (!are_leases_settled(removal) && !settle_leases(removal))
            return false;
        also(removal, removal->leases, PART_LEASES);
    }
    if (removal->semaphore)
        also(removal, removal->options->lock, PART_LOCK);
    if (remove_has_note(removal))
        also(removal, removal->note, PART_NOTE);
    count_out(removal, remove_has_note(removal) ? 2 : 1);
    return true;
}
