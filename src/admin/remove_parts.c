/*
 * What is removed with a lock, and what keeps it from being removed.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "admin/remove_state.h"
#include "base/clock.h"
#include "base/exitcode.h"
#include "base/lease.h"
#include "base/xalloc.h"
#include "lock/note.h"
#include "lock/recipe.h"

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

/* Returns false if a holder may have vanished there that nobody has waited for. */
static bool is_settled(const struct removal *removal, enum part part)
{
    struct recipe_census census = census_of(removal, part);

    if (removal->rc[part] != ZOK)
        return true;
    if (removal->has_record[part])
        return recipe_vanished(census, removal->record[part].base) == 0;
    /* Contenders that take permits are not counted there; a lock of that name has a record. */
    if (part == PART_LOCKS || recipe_departed(census) == 0)
        return true;
    /* Locks that are refused count themselves out in the semaphore's own znode, without a record.
     */
    return part == PART_LOCK && recipe_vanished(census, 0) == 0;
}

/*
 * Returns the longest lease that a vanished holder can have had there.  Without a record, a holder
 * that may not write one has the default.  A record that was lost may have named a longer one,
 * which the record of the lock for taking permits may still name, or a config file.
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

/* The parts that a client may have held. */
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
 * Waits one lease, after which the commands of vanished holders have ended.  No holders come while
 * the lock is held: neither of permits nor, beside a semaphore, of locks.
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
 * Counts the lock, and the note, out of the lock that they are in: else each would look like a
 * holder of that one that vanished.
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

        if (rc == ZOK || rc == ZNONODE)
            continue;
        if (part == PART_ABOVE ||
            ((part == PART_QUEUED || part == PART_LOCKS) && !removal->semaphore))
            continue; /* it is not a lock of ours, then */
        return remove_stop(removal, admin_failed(rc, "read", removal->path[part]));
    }
    return true;
}

bool remove_has_note(const struct removal *removal)
{
    return removal->rc[PART_NOTE] == ZOK && removal->is_note;
}

bool remove_check_nested(struct removal *removal)
{
    if (!remove_read(removal) || !refuse_unread(removal))
        return false;
    for (int part = 0; part < PART_LISTS; part++) {
        const struct strangers *strangers = &removal->strangers[part];

        if (strangers->count == 0 || (part == PART_NOTED && !remove_has_note(removal)))
            continue;
        log_notice("%s is not removed: below %s are znodes that are no contenders, perhaps locks: "
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
