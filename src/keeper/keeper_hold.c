#include "keeper/keeper_state.h"

#include "process/detach.h"
#include "process/tree.h"

void keeper_announce(struct keeper *keeper)
{
    const struct options *options = keeper->options;
    int status = 0;

    if (!keeper->hold || keeper->announced)
        return;
    if (options->hold_export &&
        !hold_export(options->lock, keeper_node(keeper), keeper_token(keeper),
                     keeper->reentry ? reentry_name(keeper->reentry) : ""))
        status = EXITCODE_OSERR;
    detach_output();
    front_release(keeper->front, status);
    keeper->announced = true;
    if (status)
        keeper_release(keeper);
}

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
