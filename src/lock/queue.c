#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "ensemble/contact.h"
#include "lock/lock_parts.h"

/* Waits for the predecessor. */
static void queue_up(struct lock *lock)
{
    lock->phase = LOCK_WAITING;
    lock->predecessor_holds = false;
    lock->waited = true;
    early_queued(lock);
    step_verify_later(lock);
    step_watch(lock);
}

/* Waits for whoever has the one place of --unfair. */
static void wait_for_unfair(struct lock *lock)
{
    xreplace(&lock->predecessor, xasprintf("%s/%s", lock->path, RECIPE_UNFAIR_NAME));
    lock->place = (struct recipe_place){.ahead = 1};
    queue_up(lock);
}

/* Waits without a place, or joins anew: --unfair may not stay in a queue with others. */
void queue_backed_off(struct lock *lock)
{
    bool counted = lock_counts(lock);
    int rc = lock->rc[counted ? TAG_MULTI : TAG_DELETE];

    if (rc == ZBADVERSION) {
        step_list(lock);
    } else if (rc == ZNOAUTH && counted && lock->failed_op == 0) {
        leave_uncounted(lock);
        step_back_off(lock);
    } else if (rc == ZOK || rc == ZNONODE) {
        xreplace(&lock->node, NULL);
        lock->czxid = 0;
        lock->revoked = false;
        lock->backing_off = false;
        if (lock->place.ahead > 0)
            queue_up(lock);
        else
            step_join(lock);
    } else {
        leave_because_rc(lock, rc, "delete", lock->node);
    }
}

void queue_take_as_own(struct lock *lock)
{
    xreplace(&lock->node, xstrdup(lock->predecessor));
    lock->czxid = lock->predecessor_czxid;
    step_list(lock);
}

/*
 * Returns true if no child came or went between the own create and the read of the lock's znode.
 * Otherwise an administrator may have deleted the own znode in between.  Another contender may have
 * counted it out, so that the count shows nothing, and be about to start its command.
 */
static bool is_last_change(const struct lock *lock)
{
    return lock->pzxid == lock->czxid;
}

/*
 * Returns true if the one of --unfair may not stay.  Others are there, or have been since its
 * create: who queued behind a holder has gone past it, and has the greater token.
 */
static bool comes_too_late(const struct lock *lock)
{
    return lock_is_unfair(lock) && (lock->place.ahead > 0 || !is_last_change(lock));
}

/*
 * Returns true if the own znode has the ACL of the lock that it is in.  If the lock's znode or its
 * ACL is another one by now, begins to create the own znode anew, and does so again when that was
 * refused or its answer was lost.
 */
static bool accept_acl(struct lock *lock)
{
    struct own_acl *acl = &lock->acl;

    if (acl->state == ACL_ASKED)
        acl->state = lock->parent_czxid == acl->czxid && lock->parent_aversion == acl->aversion
                         ? ACL_FITS
                         : ACL_OTHER;
    if (acl->state != ACL_OTHER)
        return true;
    lock->place = (struct recipe_place){0};
    step_back_off(lock);
    return false;
}

/* Decides by a list what comes next. */
static void consider_place(struct lock *lock)
{
    if (lock->rc[TAG_CHILDREN] != ZOK)
        leave_because_rc(lock, lock->rc[TAG_CHILDREN], "list", lock->path);
    else if (lock->rc[TAG_PARENT] != ZOK)
        leave_because_rc(lock, lock->rc[TAG_PARENT], "read", lock->path);
    else if (lock->rc[TAG_OWN] == ZNOAUTH)
        leave_because_rc(lock, ZNOAUTH, "read", lock->node);
    else if (!accept_znode(lock) || !accept_acl(lock))
        return;
    else if (!lock->place.found)
        step_rejoin(lock);
    else if (lock->terms.permits)
        permit_consider(lock);
    else if (lock->place.ahead > 0 && lock->is_around)
        leave_because(
            lock, EXITCODE_USAGE,
            "%s is held by the zkflock around this one, and this one would wait for itself: "
            "it is out of reach from here (no $ZKFLOCK_HELD, other --servers, another user, "
            "--no-reentry)",
            lock->path);
    else if (comes_too_late(lock))
        step_back_off(lock);
    else if (lock->place.ahead > 0)
        queue_up(lock);
    else if (lock->waited)
        step_prove(lock);
    else
        count_consider(lock); /* the create is the proof */
}

static void wait_in_line(struct lock *lock)
{
    early_joined(lock);
    step_list(lock);
}

void queue_acl_asked(struct lock *lock)
{
    int rc = lock->rc[TAG_ACL];

    if (!accept_above(lock))
        return; /* before anything is made below it */
    if (rc == ZNONODE && lock->remade++ < LOCK_REMAKE_MAX) {
        /* First the lock: another client could make it meanwhile, with an ACL that others lack. */
        step_make_parents(lock);
    } else if (rc != ZOK) {
        leave_because_rc(lock, rc, "read", lock->path);
    } else {
        lock->acl.state = ACL_ASKED;
        step_join(lock);
    }
}

/* Joins with the session's ACL, because the server refuses the lock's ACL from this client. */
static void join_without_acl(struct lock *lock)
{
    own_acl_take_sessions(lock, lock->parent_czxid, lock->parent_aversion);
    step_join(lock);
}

/*
 * Goes on after the create.  An only child is first and needs no list; but a list comes with a read
 * of the own znode.
 */
void queue_joined(struct lock *lock)
{
    int rc = lock->rc[TAG_CREATE];
    bool needs_no_list = is_last_change(lock) && !own_acl_is_doubtful(lock);

    if (!accept_above(lock))
        return; /* before anything is made below it */
    if (rc == ZNONODE && lock->remade++ < LOCK_REMAKE_MAX)
        step_make_parents(lock);
    else if (rc == ZNODEEXISTS && lock_is_unfair(lock))
        wait_for_unfair(lock);
    else if (rc == ZNODEEXISTS)
        leave_because(
            lock, EXITCODE_CONFIG,
            "the name of the next contender of %s is that of a znode made by hand; delete "
            "it, or choose another --node-style",
            lock->path);
    else if (rc == ZINVALIDACL && lock->acl.list)
        join_without_acl(lock);
    else if (rc == ZNOAUTH && lock->made)
        leave_because(lock, EXITCODE_NOPERM,
                      "%s was just made with the ACL of --acl, which does not give this client "
                      "CREATE: name this client in --acl, and have %s removed by a client that has "
                      "DELETE",
                      lock->path, lock->path);
    else if (rc != ZOK)
        leave_because_rc(lock, rc, "create a znode in", lock->path);
    else if (lock->rc[TAG_PARENT] != ZOK)
        leave_because_rc(lock, lock->rc[TAG_PARENT], "read", lock->path);
    else if (!accept_znode(lock) || !accept_acl(lock))
        return;
    else if (lock->terms.permits && needs_no_list)
        permit_consider(lock);
    else if (lock->census.children == 1 && needs_no_list)
        count_consider(lock); /* the create is the proof */
    else
        wait_in_line(lock);
}

void queue_parents_made(struct lock *lock)
{
    int rc = lock->rc[TAG_ANCESTOR];

    lock->acl.state = ACL_UNKNOWN;
    if (rc == ZOK && session_has_credentials(lock->session))
        own_acl_take_sessions(lock, lock->made_czxid, 0); /* as the lock has */
    if (rc == ZOK || rc == ZNODEEXISTS)
        step_join(lock);
    else if (rc == ZNONODE && !lock->ancestor_failed) {
        char *why = contact_no_chroot(lock->session);

        leave_because(lock, EXITCODE_CONFIG, "cannot create %s: %s", lock->path, why);
        free(why);
    } else
        leave_because_ancestor(lock);
}

void queue_found(struct lock *lock)
{
    if (lock->rc[TAG_CHILDREN] == ZNONODE || (lock->rc[TAG_CHILDREN] == ZOK && !lock->node))
        step_join(lock); /* the create never happened */
    else if (lock->node && lock->czxid == 0)
        step_list(lock); /* for the token */
    else
        consider_place(lock);
}

/* Reads the version of the own znode: somebody wrote to it, or an own write's answer was lost. */
static void read_own_again(struct lock *lock)
{
    lock->waited = true;
    step_list(lock);
}

void queue_proven(struct lock *lock)
{
    if (lock_own_is_gone(lock))
        step_rejoin(lock);
    else if (lock->rc[TAG_OWN] == ZBADVERSION)
        read_own_again(lock);
    else if (lock->rc[TAG_OWN] != ZOK)
        leave_because_rc(lock, lock->rc[TAG_OWN], "write to", lock->node);
    else if (lock->rc[TAG_PARENT] != ZOK)
        leave_because_rc(lock, lock->rc[TAG_PARENT], "read", lock->path);
    else if (!accept_znode(lock))
        return;
    else if (lock->terms.permits && !permit_left(lock))
        permit_consider(lock);
    else
        count_consider(lock);
}

void queue_listed(struct lock *lock)
{
    if (lock_own_is_gone(lock))
        step_rejoin(lock);
    else
        consider_place(lock);
}

void queue_find_again(struct lock *lock)
{
    if (lock->node && lock->czxid)
        step_list(lock);
    else if (lock_knows_own(lock))
        step_find(lock);
    else if (lock_is_unfair(lock))
        step_join(lock); /* the name is taken then, and queue_watching() tells by whom */
    else
        lock_start_over(lock); /* a znode that may be there cannot be told from another's */
}

/* Joins by a new GUID in a new session: what the last one may have made is not the own znode. */
void queue_join_again(struct lock *lock)
{
    if (lock->other_session) {
        lock_renew_guid(lock);
        step_join(lock);
    } else {
        queue_find_again(lock);
    }
}
