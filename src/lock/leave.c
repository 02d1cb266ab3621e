#include "lock/lock_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "ensemble/fault.h"

void leave_done(struct lock *lock)
{
    bool again = lock->sweeping && lock->node;

    lock_forget_place(lock);
    if (again) {
        step_sweep(lock);
        return;
    }
    lock->step = STEP_NONE;
    lock->phase = LOCK_LEFT;
}

/* Finds out whether the znode is the own one, which a create whose answer was lost has made. */
static void claim_unfair(struct lock *lock)
{
    xreplace(&lock->node, xasprintf("%s/%s", lock->path, RECIPE_UNFAIR_NAME));
    step_claim(lock);
}

/* Removes the lock's znode too, unless somebody else has come meanwhile. */
static void leave_undoing(struct lock *lock)
{
    lock->undo = false;
    step_remove(lock);
}

/*
 * Returns true if the znode that --unfair was about to wait for is the own one, which a create
 * whose answer was lost has made.
 */
static bool is_predecessor_own(const struct lock *lock)
{
    return lock->step == STEP_WATCH && lock_is_unfair(lock) && lock->rc[TAG_PREDECESSOR] == ZOK &&
           lock->predecessor_owner == session_id(lock->session);
}

/* Waits for the flight under way; its landing comes back here. */
void leave_begin(struct lock *lock)
{
    if (lock->phase == LOCK_LEFT || lock->phase == LOCK_LOST)
        return;
    lock->phase = LOCK_LEAVING;
    lock->vacated = false;
    if (lock->pending || lock->retry)
        return;
    if (!lock->node && is_predecessor_own(lock)) {
        claim_unfair(lock);
        return;
    }
    if (!lock->node && lock->rc[TAG_CREATE] == ZNODEEXISTS && lock->step == STEP_JOIN)
        claim_unfair(lock);
    else if (!lock->node)
        leave_done(lock);
    else if (lock->undo)
        leave_undoing(lock);
    else if (!lock_knows_own(lock))
        step_claim(lock); /* the name may be another's by now */
    else if (lock->record_state == RECORD_UNKNOWN || lock->record_state == RECORD_NONE)
        step_read_version(lock);
    else
        step_leave(lock);
}

/* Ends the attempt: gives back what there is, and says why. */
void leave_because(struct lock *lock, enum exitcode code, const char *format, ...)
{
    va_list args;

    if (!lock->failure) {
        lock->failure = code;
        va_start(args, format);
        if (vasprintf(&lock->failure_text, format, args) < 0)
            lock->failure_text = NULL;
        va_end(args);
    }
    lock->leaving = true;
    leave_begin(lock);
}

/* Leaves because of an answer that no step can go on with. */
void leave_because_rc(struct lock *lock, int rc, const char *what, const char *path)
{
    char *sentence = fault_sentence(rc, what, path);

    leave_because(lock, fault_status(rc), "%s", sentence);
    free(sentence);
}

void leave_because_ancestor(struct lock *lock)
{
    char *path = xstrdup(lock->path);

    for (unsigned int i = 0; i < lock->ancestor_depth; i++)
        *strrchr(path, '/') = '\0';
    leave_because_rc(lock, lock->ancestor_rc, "create", path);
    free(path);
}

/* Holds the lock as before: nothing was removed. */
static void back_to_held(struct lock *lock)
{
    lock->remove_tries = 0;
    lock->leaving = false;
    lock->step = STEP_NONE;
    lock->phase = LOCK_HELD;
    if (lock->unmarked) /* the answer to a mark was not taken */
        lock->watch_own_at = clock_now();
}

void leave_removed(struct lock *lock)
{
    int rc = lock->rc[TAG_MULTI];
    int part = lock->failed_op;
    const struct lock_znode *other = part > 1 ? &lock->others[part - 2] : NULL;
    const char *path = other ? other->path : part == 1 ? lock->path : lock->node;

    /* An earlier try, whose answer was lost, may have removed it. */
    if (rc == ZOK || (rc == ZNONODE && part == 0 && lock->remove_tries > 1)) {
        lock->vacated = true;
        leave_done(lock);
        return;
    }
    if (rc == ZBADVERSION && part > 1) {
        back_to_held(lock);
        return;
    }
    lock->step = STEP_NONE;
    if (rc == ZNOTEMPTY || rc == ZBADVERSION)
        leave_because(lock, EXITCODE_BUSY, "%s is not removed: another contender has just joined",
                      path);
    else if (rc == ZNONODE)
        leave_because(lock, EXITCODE_BUSY, "not removed: somebody just deleted %s", path);
    else
        leave_because_rc(lock, rc, other && other->record ? "write to" : "delete", path);
}

void leave_uncertain(struct lock *lock)
{
    lock_forget_place(lock);
    lock->step = STEP_NONE;
    leave_because(lock, EXITCODE_UNREACHABLE,
                  "the session expired: it is not known whether %s has been removed", lock->path);
}

void leave_swept(struct lock *lock)
{
    bool found_out = lock->rc[TAG_CHILDREN] == ZOK && lock->rc[TAG_PARENT] == ZOK;

    lock->vacated = found_out && (lock->vacated || !lock->node);
    if (!lock->node || !found_out)
        leave_done(lock); /* there is nothing, or no way to it */
    else
        step_leave(lock);
}

void leave_claimed(struct lock *lock)
{
    if (lock->rc[TAG_OWN] != ZOK || lock->rc[TAG_PARENT] != ZOK || !lock_owns(lock))
        leave_done(lock);
    else
        step_leave(lock);
}

/* Reads before it tries again: LEAVE may have been carried out, and another have taken the name. */
void leave_again(struct lock *lock)
{
    if (lock_knows_own(lock))
        step_read_version(lock);
    else
        step_claim(lock);
}

/* Warns if there is a record.  Else only a semaphore made there later relies on the count. */
void leave_uncounted(struct lock *lock)
{
    if (lock->record_state == RECORD_OURS)
        lock_count_no_more(lock);
    else
        lock->counting = COUNTING_FORBIDDEN;
}

void leave_answered(struct lock *lock)
{
    bool counted = lock_counts(lock);
    bool to_count = counted && lock->failed_op == 0; /* not to delete the znode */
    int rc = counted ? lock->rc[TAG_MULTI] : lock->rc[TAG_DELETE];

    lock->vacated = rc == ZOK || rc == ZNONODE;
    lock->awaited = rc == ZOK && counted && lock->children_at_multi > 1;
    if (lock->vacated) {
        leave_done(lock);
    } else if (rc == ZBADVERSION) {
        leave_again(lock);
    } else if (rc == ZNOAUTH && to_count) {
        leave_uncounted(lock);
        leave_again(lock);
    } else {
        char *sentence = fault_sentence(rc, to_count ? "write to" : "delete",
                                        to_count ? lock->path : lock->node);

        if (!lock->failure_text || strcmp(lock->failure_text, sentence) != 0)
            log_warning("%s; the ensemble deletes it when the session ends", sentence);
        free(sentence);
        lock->sweeping = false; /* it would be found and refused for ever */
        leave_done(lock);
    }
}
