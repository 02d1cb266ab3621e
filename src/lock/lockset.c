#include "lock/lockset_state.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/lease.h"
#include "base/log.h"
#include "base/xalloc.h"

/* How long after the proofs of locks that were taken first are old still to ask for new ones. */
#define REFRESH_AGAIN (300 * CLOCK_MS)

static void begin(struct lockset *set, size_t i)
{
    const struct lockset_item *item = &set->items[i];

    set->current = i;
    set->locks[i] = lock_new(set->session, (int)i, item->path, &item->terms);
}

struct lockset *lockset_new(struct session *session, const struct lockset_item *items, size_t count)
{
    struct lockset *set = xcalloc(1, sizeof(*set));

    set->session = session;
    set->state = LOCKSET_TAKING;
    set->items = items;
    set->count = count;
    set->locks = xcalloc(count, sizeof(struct lock *));
    begin(set, 0);
    return set;
}

/* Returns true if this lock has been begun and is one that the command runs under. */
static bool is_lasting(const struct lockset *set, size_t i)
{
    return set->locks[i] && !(set->items && set->items[i].until_next);
}

/* Returns true if this lock has to stay held, for the command or while it is the current one. */
static bool is_kept(const struct lockset *set, size_t i)
{
    return is_lasting(set, i) || (set->locks[i] && i >= set->current);
}

/* Returns what holds the locks that the command runs under; LEASE_HOLD_NONE if none has begun. */
static struct lease_hold held_by(const struct lockset *set)
{
    struct lease_hold all = LEASE_HOLD_NONE;

    for (size_t i = 0; i < set->count; i++)
        if (is_lasting(set, i))
            all = lease_together(
                all, (struct lease_hold){lock_lease(set->locks[i]), lock_proven_at(set->locks[i])});
    return all;
}

/* The proofs of the first locks may have become old while the set waited for the others. */
static bool is_fresh(const struct lockset *set)
{
    return lease_is_fresh(lockset_lease(set), lockset_proven_at(set), clock_now());
}

/* ---- going on from lock to lock ---- */

/* Returns true if this lock is needed: one that is not kept is so until the next one is held. */
static bool is_needed(const struct lockset *set, size_t i)
{
    return is_kept(set, i) || lock_phase(set->locks[i + 1]) != LOCK_HELD;
}

/* Returns a lock that is needed and whose place is gone, or NULL. */
static const struct lock *find_gone(const struct lockset *set)
{
    for (size_t i = 0; i <= set->current; i++) {
        enum lock_phase phase = lock_phase(set->locks[i]);

        if (phase == LOCK_OUT || (phase == LOCK_LOST && is_needed(set, i)))
            return set->locks[i];
    }
    return NULL;
}

static bool are_all_over(const struct lockset *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->locks[i] && !lockset_is_over(set->locks[i]))
            return false;
    return true;
}

static void leave_all(struct lockset *set)
{
    for (size_t i = set->count; i-- > 0;)
        if (set->locks[i])
            lock_leave(set->locks[i]);
}

/*
 * Gives all places back before the set begins again: with the session they would go uncounted.
 * Those of the locks behind the one that is gone cannot be kept, or two sets could wait for each
 * other.
 */
static void start_over(struct lockset *set, const struct lock *gone)
{
    const char *why;

    /* A lock that waits reports the end of the session itself. */
    if (lock_phase(set->locks[set->current]) != LOCK_OUT && lock_failure(gone, &why))
        log_warning("lost %s before all locks were held: %s; starting over", lock_path(gone), why);
    set->state = LOCKSET_STARTING_OVER;
    leave_all(set);
}

static void begin_again(struct lockset *set)
{
    set->state = LOCKSET_TAKING;
    for (size_t i = 0; i < set->count; i++) {
        lock_free(set->locks[i]);
        set->locks[i] = NULL;
    }
    session_reopen(set->session);
    begin(set, 0);
}

static void advance(struct lockset *set)
{
    if (set->state == LOCKSET_LEAVING || set->state == LOCKSET_COMPLETE)
        return;

    const struct lock *gone = set->state == LOCKSET_STARTING_OVER ? NULL : find_gone(set);

    if (gone)
        start_over(set, gone);
    if (set->state == LOCKSET_STARTING_OVER) {
        if (are_all_over(set))
            begin_again(set);
        return;
    }
    while (lock_phase(set->locks[set->current]) == LOCK_HELD) {
        size_t i = set->current;

        if (i > 0 && set->items[i - 1].until_next)
            lock_leave(set->locks[i - 1]);
        if (i + 1 == set->count)
            break;
        log_debug("%s is held as %s", lock_path(set->locks[i]), lock_node(set->locks[i]));
        begin(set, i + 1);
    }
    if (lock_phase(set->locks[set->current]) != LOCK_HELD)
        return;
    if (is_fresh(set)) {
        set->state = LOCKSET_COMPLETE;
    } else if (set->state == LOCKSET_TAKING) {
        set->state = LOCKSET_REFRESHING;
        set->refreshed_at = clock_now();
        lockset_prove(set);
    }
}

void lockset_handle(struct lockset *set, const struct session_event *event)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->locks[i])
            lock_handle(set->locks[i], event);
    if (event->type == SESSION_CONNECTED && set->state == LOCKSET_REFRESHING)
        set->state = LOCKSET_TAKING; /* the proofs were not answered */
    advance(set);
}

/* Asks for proofs again that were answered too late to be fresh. */
static int64_t refresh_tick(struct lockset *set)
{
    if (set->state == LOCKSET_REFRESHING && clock_now() >= set->refreshed_at + REFRESH_AGAIN) {
        set->state = LOCKSET_TAKING;
        advance(set);
    }
    return set->state == LOCKSET_REFRESHING ? set->refreshed_at + REFRESH_AGAIN : CLOCK_NEVER;
}

int64_t lockset_tick(struct lockset *set)
{
    int64_t next = refresh_tick(set);

    for (size_t i = 0; i < set->count; i++)
        if (set->locks[i])
            next = clock_earlier(next, lock_tick(set->locks[i]));
    return next;
}

void lockset_prove(struct lockset *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (is_kept(set, i))
            lock_prove(set->locks[i]);
}

/* Returns true if this lock is the turn of a semaphore, and held. */
static bool holds_turn(const struct lockset *set, size_t i)
{
    return set->locks[i] && !is_lasting(set, i) && lock_phase(set->locks[i]) == LOCK_HELD;
}

/*
 * Has the znodes go along that were made for a semaphore that is refused, while its turn is held.
 * Later others may have taken permits there and vanished, and their count would go too.
 */
static void unmake(struct lockset *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->locks[i] && (holds_turn(set, i) || (i > 0 && holds_turn(set, i - 1))))
            lock_unmake(set->locks[i]);
}

void lockset_leave(struct lockset *set)
{
    const char *why;

    if (lockset_failure(set, &why))
        unmake(set);
    set->state = LOCKSET_LEAVING;
    leave_all(set);
}

/* ---- what is known ---- */

enum lock_phase lockset_phase(const struct lockset *set)
{
    if (set->state == LOCKSET_LEAVING)
        return are_all_over(set) ? LOCK_LEFT : LOCK_LEAVING;
    if (set->state == LOCKSET_STARTING_OVER)
        return LOCK_JOINING;
    for (size_t i = 0; i < set->count; i++)
        if (is_kept(set, i) && lock_phase(set->locks[i]) == LOCK_LOST)
            return LOCK_LOST;

    enum lock_phase phase = lock_phase(set->locks[set->current]);

    /* The current lock is held, but others are not yet, or some proof is too old. */
    return phase == LOCK_HELD && set->state != LOCKSET_COMPLETE ? LOCK_SETTLING : phase;
}

enum exitcode lockset_failure(const struct lockset *set, const char **message)
{
    enum exitcode failure = 0;

    *message = NULL;
    for (size_t i = 0; i < set->count && !failure; i++)
        if (set->locks[i])
            failure = lock_failure(set->locks[i], message);
    return failure;
}

const char *lockset_revoked(const struct lockset *set, const char **lock)
{
    const char *who = NULL;

    for (size_t i = 0; i < set->count && !who; i++) {
        if (!is_kept(set, i))
            continue;
        who = lock_revoked(set->locks[i]);
        *lock = set->items[i].lock;
    }
    return who;
}

int64_t lockset_proven_at(const struct lockset *set)
{
    return held_by(set).proven_at;
}

int64_t lockset_lease(const struct lockset *set)
{
    int64_t shortest = held_by(set).length;

    return shortest == CLOCK_NEVER ? set->items[0].terms.lease : shortest;
}

const char *lockset_shortest(const struct lockset *set)
{
    const struct lockset_item *found = lockset_current_item(set);

    for (size_t i = set->count; i-- > 0;)
        if (is_lasting(set, i) && lock_lease(set->locks[i]) == lockset_lease(set))
            found = &set->items[i];
    return found->lock;
}

const struct lock *lockset_current(const struct lockset *set)
{
    return set->locks[set->current];
}

const struct lockset_item *lockset_current_item(const struct lockset *set)
{
    return &set->items[set->current];
}

const struct lock *lockset_main(const struct lockset *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i].main)
            return set->locks[i];
    return set->locks[0];
}

int lockset_tags(const struct lockset *set)
{
    return lock_first_tag((int)set->count);
}

bool lockset_has_node(const struct lockset *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->locks[i] && lock_node(set->locks[i]))
            return true;
    return false;
}

bool lockset_is_vacated(const struct lockset *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->locks[i] && !lock_is_vacated(set->locks[i]))
            return false;
    return true;
}

bool lockset_only_waits(const struct lockset *set)
{
    return set->current == 0 && lockset_phase(set) == LOCK_WAITING;
}

bool lockset_is_next(const struct lockset *set)
{
    return set->current + 1 == set->count && lock_is_next(set->locks[set->current]);
}

bool lockset_is_awaited(const struct lockset *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->locks[i] && lock_is_awaited(set->locks[i]))
            return true;
    return false;
}

void lockset_free(struct lockset *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->count; i++)
        lock_free(set->locks[i]);
    free(set->locks);
    free(set);
}
