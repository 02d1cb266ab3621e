#include "keeper/keeper_state.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lease.h"
#include "base/log.h"
#include "ensemble/contact.h"
#include "keeper/plan.h"

/* Connecting in silence for longer than this is told to a person at a terminal. */
#define SILENCE_BEFORE_NEWS (2 * CLOCK_S)

static bool resolve(struct keeper *keeper, int64_t deadline)
{
    char *fault;

    while (servers_resolve(keeper->options->servers, deadline, front_caller_fd(keeper->front),
                           &fault) < 0) {
        if (fault) {
            keeper_unreachable(keeper, "%s", fault);
            free(fault);
            return false;
        }
        keeper_hear_front(keeper);
        if (keeper_cut_short(keeper))
            return false;
    }
    return true;
}

static bool unreachable(struct keeper *keeper)
{
    char *why =
        contact_unreachable(keeper->session, keeper->options->servers, keeper_patience(keeper));

    if (contact_unreachable_status(keeper->session) == EXITCODE_UNREACHABLE) {
        keeper_unreachable(keeper, "%s", why);
    } else {
        log_error("%s; %s was not taken", why, keeper->options->lock);
        keeper_stop(keeper, EXITCODE_OSERR);
    }
    free(why);
    return false;
}

static void tell_of_silence(const struct keeper *keeper)
{
    char *silence =
        contact_silence(keeper->session, keeper->options->servers, keeper_patience(keeper));

    log_notice("%s", silence);
    free(silence);
}

bool keeper_connect(struct keeper *keeper)
{
    int64_t deadline = keeper->started_at + keeper_patience(keeper);
    int64_t news_at = keeper->started_at + SILENCE_BEFORE_NEWS;

    if (!resolve(keeper, deadline) || !keeper_enter(keeper, deadline))
        return false;
    if (keeper->items_len == 0)
        return true;
    if (!isatty(STDERR_FILENO))
        news_at = CLOCK_NEVER;
    keeper->session = session_open(keeper->options->servers, keeper->options->session_timeout_ms);
    if (!keeper->session) {
        char *why = contact_not_started(errno);

        log_error("%s", why);
        free(why);
        return keeper_stop(keeper, EXITCODE_OSERR);
    }
    session_set_patience(keeper->session,
                         lease_plan(keeper->items[0].terms.lease, LEASE_OWN_GRACE).patience);
    keeper->locks = lockset_new(keeper->session, keeper->items, keeper->items_len);
    while (!session_connected(keeper->session)) {
        int64_t now = clock_now();

        if (keeper_cut_short(keeper))
            return false;
        if (now >= deadline)
            return unreachable(keeper);
        if (now >= news_at) {
            tell_of_silence(keeper);
            news_at = CLOCK_NEVER;
        }
        keeper_pump(keeper, clock_earlier(deadline, news_at));
    }
    return true;
}

void keeper_hang_up(struct keeper *keeper)
{
    keeper_end_reentry(keeper);
    outlook_free(keeper->outlook);
    keeper->outlook = NULL;
    once_free(keeper->once);
    keeper->once = NULL;
    lockset_free(keeper->locks);
    keeper->locks = NULL;
    session_close(keeper->session);
    keeper->session = NULL;
}

/* ---- another try ---- */

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
