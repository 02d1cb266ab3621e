/*
 * Others that use the lock: zkflocks inside the command, and under --hold the caller.
 */
#include "keeper/keeper_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "keeper/plan.h"
#include "nesting/environment.h"
#include "process/helper.h"
#include "process/tree.h"

void keeper_release(struct keeper *keeper)
{
    if (keeper->users.caller_left)
        return;
    keeper->users.caller_left = true;
    if (keeper->users.reentry)
        reentry_given_back(keeper->users.reentry);
    tree_forget_caller();
    guard_order(&keeper->guard, GUARD_RELEASE, 0);
}

void keeper_leave_for_caller(struct keeper *keeper)
{
    for (size_t i = 0; keeper->hold && i < keeper->try.entries_len; i++)
        reentry_leave(&keeper->try.entries[i]);
}

/* Has the front become the command.  Returns the status to end with instead, if it cannot. */
static int become_command(struct keeper *keeper)
{
    size_t len;
    char *environment = environment_for_command(
        keeper->options->lock, keeper_node(keeper), keeper_token(keeper),
        keeper->users.reentry ? reentry_name(keeper->users.reentry) : NULL, &len);
    int status = 0;

    if (!environment || !front_become(keeper->front, environment, len))
        status = log_failure(EXITCODE_OSERR, "cannot start %s: %s", keeper->command->argv[0],
                             strerror(errno));
    free(environment);
    return status;
}

void keeper_announce(struct keeper *keeper)
{
    const struct options *options = keeper->options;
    int status = 0;

    if (!keeper->hold || keeper->users.caller_told)
        return;
    /* Not before: an --unlock that came first would leave a caller that is told to have the lock.
     */
    if (keeper->users.reentry)
        reentry_allow_unlock(keeper->users.reentry, options->lock);
    if (options->hold_export &&
        !environment_print(keeper->hold->exported, options->lock, keeper_node(keeper),
                           keeper_token(keeper),
                           keeper->users.reentry ? reentry_name(keeper->users.reentry) : ""))
        status = EXITCODE_OSERR;
    if (keeper->command->in_place)
        status = become_command(keeper);
    helper_detach_output();
    if (!keeper->command->in_place || status)
        front_release(keeper->front, status);
    keeper->users.caller_told = true;
    if (status)
        keeper_release(keeper);
}

/* Collects the locks that this zkflock holds itself; those around it offer their own. */
static size_t collect_own(struct keeper *keeper)
{
    const struct keeper_try *try = &keeper->try;
    size_t count = 1 + keeper->options->with_len;
    size_t own = 0;

    keeper->users.offered = xcalloc(count, sizeof(keeper->users.offered[0]));
    for (size_t i = 0; i < count; i++)
        if (plan_has(try->items, try->items_len, try->wanted[i].path))
            keeper->users.offered[own++] = try->wanted[i];
    return own;
}

void keeper_offer(struct keeper *keeper)
{
    size_t own = collect_own(keeper);
    struct reentry_terms terms = {.locks = keeper->users.offered,
                                  .count = own,
                                  .servers = keeper->options->servers,
                                  .kind = keeper->hold ? REENTRY_CALLER : REENTRY_COMMAND,
                                  .enterable = keeper->options->reentry};

    if (own == 0 && !keeper->hold)
        return;
    if (keeper->hold)
        terms.holder = keeper->hold->caller;
    else
        procid_of(keeper->guard.pid, &terms.holder);
    keeper->users.reentry = reentry_offer(&terms);
    if (!keeper->users.reentry)
        log_warning("zkflocks inside the command cannot use the lock: %s", strerror(errno));
}

/*
 * Tells the guard of those that want to use the lock.  They are answered, and start, when it has
 * taken them over: the keeper may be killed, and the guard may be ending the tree, without them, at
 * this moment.
 */
static void report_new_users(struct keeper *keeper)
{
    struct procid user;

    while (reentry_new_user(keeper->users.reentry, &user)) {
        guard_keep(&keeper->guard, &user);
        keeper->users.reported = true;
    }
}

/* added: to the keeper's own tree as well */
static void spare(struct keeper *keeper, const struct procid *user, bool added)
{
    guard_spare(&keeper->guard, user);
    if (added)
        tree_spare_outsider(user);
}

/* A caller of --hold that has given the lock back lives on without it. */
static void spare_past_users(struct keeper *keeper)
{
    struct procid user;

    while (reentry_past_user(keeper->users.reentry, &user))
        spare(keeper, &user, true);
}

static void answer(struct keeper *keeper)
{
    reentry_answer(keeper->users.reentry, keeper_node(keeper), keeper_token(keeper));
}

/*
 * A user need not descend from the guard: under --hold it descends from the caller, and a process
 * can get ZKFLOCK_HELD in other ways, as from the client of a build server.
 */
void keeper_hear_of_user(struct keeper *keeper, const struct procid *user, bool kept)
{
    bool inside = tree_descends(user->pid, keeper->guard.pid);
    bool guarded = kept && (inside || tree_add_outsider(user));

    keeper->users.guarded |= guarded;
    if ((!reentry_guarded(keeper->users.reentry, user, guarded) || !guarded) && kept)
        spare(keeper, user, guarded);
    report_new_users(keeper);
    answer(keeper);
}

void keeper_serve_reentry(struct keeper *keeper)
{
    reentry_serve(keeper->users.reentry);
    spare_past_users(keeper);
    report_new_users(keeper);
    answer(keeper);
    if (reentry_unlock_wanted(keeper->users.reentry)) {
        keeper_release(keeper);
        /* A user of the lock may be waiting for the process that asks. */
        if (reentry_users(keeper->users.reentry) > 0)
            reentry_unlocked(keeper->users.reentry, true);
    }
}

void keeper_close_reentry(struct keeper *keeper)
{
    if (keeper->users.reentry)
        reentry_close(keeper->users.reentry);
    if (keeper->users.reported)
        guard_order(&keeper->guard, GUARD_UNUSED, 0);
}

void keeper_end_reentry(struct keeper *keeper)
{
    reentry_free(keeper->users.reentry);
    free(keeper->users.offered);
    keeper->users.reentry = NULL;
    keeper->users.offered = NULL;
}
