/*
 * The lock is used by others than the own command: by zkflocks inside it, and by the process that
 * it is held for in the place of a command.
 */
#include "keeper/keeper_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "keeper/plan.h"
#include "nesting/environment.h"
#include "process/detach.h"
#include "process/tree.h"

void keeper_release(struct keeper *keeper)
{
    if (keeper->released)
        return;
    keeper->released = true;
    if (keeper->reentry)
        reentry_allow_unlock(keeper->reentry, NULL);
    tree_forget_outsider(keeper->hold->caller.pid);
    guard_release(&keeper->guard);
}

void keeper_announce(struct keeper *keeper)
{
    const struct options *options = keeper->options;
    int status = 0;

    if (!keeper->hold || keeper->announced)
        return;
    if (options->hold_export &&
        !environment_print(keeper->hold->exported, options->lock, keeper_node(keeper),
                           keeper_token(keeper),
                           keeper->reentry ? reentry_name(keeper->reentry) : ""))
        status = EXITCODE_OSERR;
    detach_output();
    front_release(keeper->front, status);
    keeper->announced = true;
    if (status)
        keeper_release(keeper);
}

/* Those used by re-entry are offered by whoever holds them. */
static size_t keep_own(struct keeper *keeper)
{
    size_t own = 0;

    for (size_t i = 0; i < 1 + keeper->options->with_len; i++)
        if (plan_has(keeper->items, keeper->items_len, keeper->wanted[i].path))
            keeper->wanted[own++] = keeper->wanted[i];
    return own;
}

void keeper_offer(struct keeper *keeper)
{
    size_t own = keep_own(keeper);
    struct reentry_terms terms = {.locks = keeper->wanted,
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
    keeper->reentry = reentry_offer(&terms);
    if (!keeper->reentry)
        log_warning("cannot be asked by zkflocks inside the command: %s", strerror(errno));
    else if (keeper->hold)
        reentry_allow_unlock(keeper->reentry, keeper->options->lock);
}

/*
 * Before they are answered and start: the guard has to know, should this process be killed.  What
 * uses a lock that is held for another process descends from neither, nor does what has got
 * ZKFLOCK_HELD in another way, as from a client of a build server.
 */
static void guard_new_users(struct keeper *keeper)
{
    struct procid user;

    while (reentry_new_user(keeper->reentry, &user)) {
        if (!tree_descends(user.pid, keeper->guard.pid) && !tree_add_user(&user)) {
            reentry_refuse(keeper->reentry, &user);
            continue;
        }
        guard_keep(&keeper->guard, &user);
        keeper->guard_keeps = true;
    }
}

void keeper_serve_reentry(struct keeper *keeper)
{
    reentry_serve(keeper->reentry);
    guard_new_users(keeper);
    reentry_answer(keeper->reentry, keeper_node(keeper), keeper_token(keeper));
    if (reentry_unlock_wanted(keeper->reentry)) {
        keeper_release(keeper);
        /* One who uses it may be waiting for the one who asks. */
        if (reentry_users(keeper->reentry) > 0)
            reentry_unlocked(keeper->reentry, true);
    }
}

void keeper_share_entries(const struct keeper *keeper)
{
    for (size_t i = 0; i < keeper->entries_len; i++)
        guard_share(&keeper->guard, keeper->entries[i].fd);
}

void keeper_close_reentry(struct keeper *keeper)
{
    if (keeper->reentry)
        reentry_close(keeper->reentry);
    if (keeper->guard_keeps)
        guard_unused(&keeper->guard);
}

void keeper_end_reentry(struct keeper *keeper)
{
    reentry_free(keeper->reentry);
    keeper->reentry = NULL;
    for (size_t i = 0; i < keeper->entries_len; i++) {
        close(keeper->entries[i].fd);
        free(keeper->entries[i].node);
    }
    keeper->entries_len = 0;
    free(keeper->entries);
    free(keeper->wanted);
    keeper->entries = NULL;
    keeper->wanted = NULL;
}
