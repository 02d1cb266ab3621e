#include "lock/lock_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lease.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "lock/revocation.h"

/* Commands that end sooner need not pay for the watch. */
#define WATCH_OWN_AFTER (100 * CLOCK_MS)

/* Uses getrandom(2), because the client library seeds the C library's generators. */
void lock_renew_guid(struct lock *lock)
{
    unsigned char bytes[LOCK_GUID_BYTES];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        log_error("getrandom failed");
        _exit(EXITCODE_OSERR);
    }
    for (size_t i = 0; i < LOCK_GUID_BYTES; i++)
        sprintf(lock->guid + 2 * i, "%02x", bytes[i]);
}

void lock_forget_place(struct lock *lock)
{
    xreplace(&lock->node, NULL);
    xreplace(&lock->predecessor, NULL);
    lock->czxid = 0;
    lock->revoked = false;
    lock->backing_off = false;
}

bool lock_owns(const struct lock *lock)
{
    return lock->owner == session_id(lock->session);
}

bool lock_own_is_gone(const struct lock *lock)
{
    return lock->rc[TAG_OWN] == ZNONODE || (lock->rc[TAG_OWN] == ZOK && !lock_owns(lock));
}

void lock_note_own(struct lock *lock, const struct session_event *event)
{
    lock->owner = event->stat.ephemeralOwner;
    if (!lock_owns(lock))
        return;
    lock->czxid = event->stat.czxid;
    lock->version = event->stat.version;
    if (!lock->revoked && event->data)
        lock->revoked = revocation_decode(event->data, event->data_len, lock->revoked_by);
}

void lock_start_over(struct lock *lock)
{
    lock_forget_place(lock);
    lock->step = STEP_NONE;
    lock->phase = LOCK_OUT;
}

void lock_unmake(struct lock *lock)
{
    lock->undo = lock->made && lock->above_path;
}

void lock_enter_held(struct lock *lock)
{
    lock->proven_at = lock->proof_sent;
    lock->watch_own_at = clock_now() + WATCH_OWN_AFTER;
    lock->mark_at = CLOCK_NEVER;
    lock->step = STEP_NONE;
    lock->phase = LOCK_HELD;
}

bool lock_is_unfair(const struct lock *lock)
{
    return lock->terms.kind == NAMING_UNFAIR;
}

void lock_count_no_more(struct lock *lock)
{
    lock->counting = COUNTING_FORBIDDEN;
    if (lock->record_state == RECORD_NONE)
        lock->record.lease_ms = lock_lease_without_record(lock);
    log_warning("not permitted to write to %s, so departures are not counted there and every "
                "holder waits %" PRId64 " s for the one before",
                lock->path, lock->record.lease_ms / 1000);
}

int64_t lock_lease_without_record(const struct lock *lock)
{
    int64_t own = lock->terms.lease;

    if (own < LEASE_DEFAULT || lock->counting == COUNTING_FORBIDDEN)
        own = LEASE_DEFAULT;
    return own / CLOCK_MS;
}

int64_t lock_lease(const struct lock *lock)
{
    return lock->record.lease_ms * CLOCK_MS;
}
