#include "keeper/keeper_state.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "keeper/plan.h"

bool keeper_unreachable(struct keeper *keeper, const char *format, ...)
{
    char reason[PIPE_BUF];
    char span[CLOCK_FORMAT_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    if (keeper_is_late(keeper))
        return keeper_too_late(keeper, true, reason);
    if (keeper->tries_left > 0)
        log_info("%s; trying again in %s, %d %s left", reason,
                 clock_format(keeper->options->retry_delay, span), keeper->tries_left,
                 keeper->tries_left == 1 ? "try" : "tries");
    else
        log_error("%s; %s was not taken", reason, keeper->options->lock);
    keeper->unreachable = true;
    return keeper_stop(keeper, EXITCODE_UNREACHABLE);
}

/* What was held for a moment is told to have ended before it is taken anew. */
static void hang_up(struct keeper *keeper)
{
    if (keeper->acquired_at && !keeper->ended_at && lockset_phase(keeper->locks) == LOCK_LEFT)
        keeper_tell_released(keeper);
    else if (keeper->acquired_at && !keeper->ended_at)
        keeper_tell_lost_early(keeper, "contact", "no contact with the ensemble");
    keeper_hang_up(keeper);
}

/* Returns whether the pause went by.  A place in the queue is given back if contact allows it. */
static bool pause_between_tries(struct keeper *keeper)
{
    int64_t end = clock_earlier(clock_now() + keeper->options->retry_delay, keeper->late_at);

    if (keeper->locks && session_withhold(keeper->session))
        lockset_leave(keeper->locks);
    else
        hang_up(keeper);
    while (clock_now() < end) {
        keeper_pump(keeper, end);
        if (keeper_cut_short(keeper)) {
            /* Whoever ends the pause does not wait for contact. */
            if (keeper->session && !session_connected(keeper->session))
                hang_up(keeper);
            return false;
        }
    }
    return !keeper_is_late(keeper) ||
           keeper_too_late(keeper, true, "no server could be reached before");
}

bool keeper_try_again(struct keeper *keeper)
{
    if (!keeper->unreachable || keeper->tries_left == 0 || !pause_between_tries(keeper))
        return false;
    hang_up(keeper);
    plan_free(keeper->items, keeper->items_len);
    keeper->items = plan_new(keeper->options, &keeper->items_len);
    keeper->lease = (struct lease){0};
    keeper->acquired_at = keeper->ended_at = 0;
    keeper->status = 0;
    keeper->unreachable = false;
    keeper->tries_left--;
    keeper->started_at = clock_now();
    return true;
}
