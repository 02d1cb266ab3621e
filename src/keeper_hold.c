#include "keeper_state.h"

#include "log.h"

void keeper_announce(struct keeper *keeper)
{
    const struct options *options = keeper->options;

    if (!keeper->hold || keeper->announced)
        return;
    hold_announce(options->hold_export, options->lock, keeper_node(keeper), keeper_token(keeper),
                  keeper->reentry ? reentry_name(keeper->reentry) : "");
    front_release(keeper->front, 0);
    keeper->announced = true;
}

void keeper_release(struct keeper *keeper)
{
    if (keeper->released)
        return;
    keeper->released = true;
    guard_release(&keeper->guard);
}
