/*
 * Removes a lock while it holds it, so that nobody else does, in one transaction that fails if
 * another contender is in the queue.  To remove a semaphore it holds the lock under which permits
 * are taken: meanwhile nobody can take one.  A path may have been used as a lock and as a
 * semaphore: then the semaphore's znodes keep all locks away, and vanished holders of either are
 * waited for.
 *
 *   look           refuses a lock known to be used, without a place in the queue   [look]
 *   acquire        the rest of the rule: first, and nobody vanished                [acquire]
 *   look again     at what is removed with it, the leases and the note            [remove_gather]
 *   remove
 */
#include "admin/remove.h"

#include <stdlib.h>

#include "admin/remove_state.h"
#include "base/clock.h"
#include "base/exitcode.h"
#include "base/xalloc.h"
#include "ensemble/contact.h"
#include "ensemble/znode.h"
#include "list/describe.h"
#include "list/survey.h"
#include "lock/contender.h"
#include "lock/note.h"

/* Tries for so long to give the place back. */
#define GIVE_BACK_PATIENCE (5 * CLOCK_S)

/* Tries so often to remove a lock if what is removed with it changes meanwhile. */
enum { TRIES = 20 };

/* ---- who is there ---- */

static bool look(struct removal *removal)
{
    const struct options *options = removal->options;
    struct view view;
    char who[DESCRIBE_SIZE];
    bool waits = removal->wait_until > clock_now();
    bool going_on = false;

    removal->status = survey_lock(&removal->admin, options->lock, &view);
    if (removal->status)
        return false;
    if (!view.exists) {
        /* To remove a note alone it makes the lock, so that no run writes a note meanwhile. */
        going_on = remove_check_nested(removal) && remove_has_note(removal);
        if (!going_on && !removal->status) {
            log_notice("%s does not exist: there is nothing to remove", options->lock);
            remove_stop(removal, EXITCODE_BUSY);
        }
    } else if (view.len && !waits) {
        remove_refuse_used(removal, view.len, describe_contender(&view.contenders[0], who));
    } else if (view.vanished && !waits) {
        remove_refuse_unsettled(removal, true, view.lease_ms * CLOCK_MS);
    } else {
        going_on = true;
    }
    view_release(&view);
    return going_on;
}

/* ---- holding it ---- */

static void join(struct removal *removal)
{
    const struct options *options = removal->options;
    const struct lock_terms terms = {
        .lease = options->new_lease,
        /* As for runs, see plan.c; settle() waits for holders of permits that vanished. */
        .delay = removal->semaphore ? 0 : LEASE_OWN_DELAY,
        .kind = NAMING_MUTEX,
        .turn = removal->semaphore,
    };
    const char *queue = removal->parts[removal->semaphore ? PART_LOCKS : PART_LOCK].path;

    removal->lock = lock_new(removal->admin.session, 0, queue, &terms);
    removal->outlook = outlook_new(removal->admin.session, lock_first_tag(1) + PART_TAGS);
}

static int64_t answer_due(const struct removal *removal, int64_t joining_since)
{
    return contact_deadline(removal->admin.session, removal->options->connect_timeout,
                            lock_phase(removal->lock) == LOCK_JOINING ? joining_since
                                                                      : CLOCK_NEVER);
}

static bool failed(struct removal *removal)
{
    const char *why;
    enum exitcode status = lock_failure(removal->lock, &why);

    if (!status)
        return remove_stop(removal, admin_silent(&removal->admin)); /* the session expired */
    if (status == EXITCODE_BUSY)
        log_notice("%s", why);
    else
        log_error("%s", why);
    return remove_stop(removal, (int)status);
}

/* Waits until the lock is held; -n and -w limit the whole wait. */
static bool acquire(struct removal *removal)
{
    int64_t joining_since = clock_now();
    const struct lock *lock = removal->lock;
    bool told = false;

    for (;;) {
        enum lock_phase phase = lock_phase(lock);
        int64_t deadline = answer_due(removal, joining_since);
        int64_t now = clock_now();

        if (now >= deadline)
            return remove_stop(removal, admin_silent(&removal->admin));
        switch (phase) {
        case LOCK_HELD:
            return true;
        case LOCK_LEFT:
        case LOCK_LOST:
        case LOCK_OUT:
            return failed(removal);
        case LOCK_WAITING:
            if (!told && now < removal->wait_until)
                log_info("waiting for %s: %zu ahead", removal->options->lock, lock_ahead(lock));
            told = true;
            deadline = clock_earlier(deadline, removal->wait_until);
            if (now >= deadline) {
                deadline = clock_add(deadline, OUTLOOK_PATIENCE);
                outlook_look(removal->outlook, NULL, 0, lock_path(lock), lock_node(lock));
                if (now >= deadline || outlook_known(removal->outlook))
                    return remove_refuse_used(removal, lock_ahead(lock), NULL);
            }
            break;
        case LOCK_SETTLING:
            if (now >= removal->wait_until)
                return remove_refuse_unsettled(removal, false, lock_lease(lock));
            deadline = clock_earlier(deadline, removal->wait_until);
            break;
        default:
            break;
        }
        if (phase != LOCK_JOINING)
            joining_since = now;
        if (!remove_pump(removal, deadline))
            return false;
    }
}

/* Gives the place back, also if a signal has ended the wait. */
static void leave(struct removal *removal)
{
    int64_t deadline = clock_now() + GIVE_BACK_PATIENCE;

    removal->admin.ended_by = 0;
    lock_leave(removal->lock);
    while (lock_phase(removal->lock) == LOCK_LEAVING && clock_now() < deadline &&
           session_alive(removal->admin.session))
        if (!remove_pump(removal, deadline))
            removal->admin.ended_by = 0;
}

/* Tries once; afterwards the lock is removed, or held as before. */
static bool try_to_remove(struct removal *removal)
{
    if (lock_phase(removal->lock) != LOCK_HELD)
        return failed(removal);
    lock_remove(removal->lock, removal->others, removal->others_len);
    while (lock_phase(removal->lock) == LOCK_LEAVING) {
        int64_t deadline = answer_due(removal, 0);

        if (clock_now() >= deadline)
            return remove_stop(removal, admin_silent(&removal->admin));
        if (!remove_pump(removal, deadline))
            removal->admin.ended_by = 0; /* it will end in a moment anyway */
    }
    removal->status = 0;
    return true;
}

static bool remove_all(struct removal *removal)
{
    const char *lock = removal->options->lock;
    const char *why;

    for (int i = 0; i < TRIES && lock_phase(removal->lock) != LOCK_LEFT; i++)
        if (!remove_gather(removal) || !try_to_remove(removal))
            return false;
    if (lock_phase(removal->lock) != LOCK_LEFT) {
        log_notice("%s is not removed: its znodes keep changing", lock);
        return remove_stop(removal, EXITCODE_BUSY);
    }
    if (lock_failure(removal->lock, &why))
        return failed(removal);
    if (remove_has_note(removal))
        log_notice("removed %s, and with it the time of its last success, %s", lock,
                   removal->parts[PART_NOTE].path);
    else
        log_notice("removed %s", lock);
    return true;
}

int remove_lock(const struct options *options)
{
    char *self[] = {(char *)"zkflock", (char *)"--remove", (char *)options->name, NULL};
    struct removal removal = {.options = options};
    struct part *parts = removal.parts;

    contender_introduce(self);
    removal.wait_until = clock_add(clock_now(), options_asked_wait(options, 0));
    parts[PART_LOCK].path = xstrdup(options->lock);
    parts[PART_LOCKS].path = xasprintf("%s/%s", options->lock, RECIPE_SEMAPHORE_LOCKS);
    parts[PART_LEASES].path = xasprintf("%s/%s", options->lock, RECIPE_SEMAPHORE_LEASES);
    parts[PART_NOTE].path = note_path(options->lock);
    parts[PART_ABOVE].path = znode_above(options->lock);
    removal.status = admin_start(&removal.admin, options);
    if (removal.status || !look(&removal) || !remove_check_nested(&removal))
        goto end;
    join(&removal);
    if (!acquire(&removal) || !remove_all(&removal))
        leave(&removal);
end:
    admin_end(&removal.admin);
    outlook_free(removal.outlook);
    lock_free(removal.lock);
    for (int i = 0; i < PARTS; i++) {
        free(parts[i].path);
        free(parts[i].stranger);
    }
    return removal.status;
}
