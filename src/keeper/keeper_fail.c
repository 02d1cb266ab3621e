/*
 * The exit status, and failures that several phases share.
 */
#include "keeper/keeper_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "ensemble/contact.h"

bool keeper_stop(struct keeper *keeper, int status)
{
    keeper->outcome.status = status;
    return false;
}

bool keeper_is_late(const struct keeper *keeper)
{
    return clock_now() >= keeper->late_at;
}

bool keeper_too_late(struct keeper *keeper, bool fault, const char *why)
{
    char span[CLOCK_FORMAT_SIZE];
    char *text = xasprintf("%s was not taken within --deadline %s: %s", keeper->options->lock,
                           clock_format(keeper->options->deadline, span), why);

    keeper_tell_busy(keeper, fault, text);
    free(text);
    return keeper_stop(keeper, keeper->options->conflict_status);
}

bool keeper_not_taken(struct keeper *keeper, int status, char *why)
{
    log_error("%s; %s was not taken", why, keeper->options->lock);
    free(why);
    return keeper_stop(keeper, status);
}

bool keeper_unreachable(struct keeper *keeper, char *why)
{
    char span[CLOCK_FORMAT_SIZE];

    if (keeper_is_late(keeper)) {
        keeper_too_late(keeper, true, why);
        free(why);
        return false;
    }
    keeper->outcome.unreachable = true;
    if (keeper->outcome.tries_left == 0)
        return keeper_not_taken(keeper, EXITCODE_UNREACHABLE, why);
    log_info("%s; trying again in %s, %d %s left", why,
             clock_format(keeper->options->retry_delay, span), keeper->outcome.tries_left,
             keeper->outcome.tries_left == 1 ? "try" : "tries");
    free(why);
    return keeper_stop(keeper, EXITCODE_UNREACHABLE);
}

bool keeper_may_try_again(const struct keeper *keeper)
{
    return keeper->outcome.unreachable && keeper->outcome.tries_left > 0;
}

void keeper_use_try(struct keeper *keeper)
{
    keeper->outcome =
        (struct keeper_outcome){.status = 0, .tries_left = keeper->outcome.tries_left - 1};
}

static void ended_by_signal(struct keeper *keeper)
{
    log_info("ended by signal %d (%s)", keeper->news.ended_by, strsignal(keeper->news.ended_by));
    keeper_stop(keeper, EXITCODE_SIGNAL + keeper->news.ended_by);
}

bool keeper_starts_nothing(const struct keeper *keeper)
{
    return keeper->hold && !keeper->command->in_place;
}

/* Says what has not come to pass. */
static const char *omitted(const struct keeper *keeper)
{
    return keeper_starts_nothing(keeper) ? "lock was not taken" : "command was not started";
}

bool keeper_front_died(struct keeper *keeper)
{
    const char *what = "command is ended and the lock released";

    if (keeper->run.state == RUN_NOT_BEGUN || keeper->hold)
        what = omitted(keeper);
    else if (keeper->tenure.state == TENURE_LOST)
        what = "command is ended";
    log_error("zkflock was killed, so the %s", what);
    return keeper_stop(keeper, EXITCODE_INTERNAL);
}

bool keeper_guard_failed(struct keeper *keeper, const char *how)
{
    bool begun = keeper->run.state != RUN_NOT_BEGUN;
    char *who;

    if (keeper->job.state == JOB_ORDERED && !keeper->hold)
        begun = false; /* the guard tells of the process before it may execute anything */
    if (begun && (keeper->hold || keeper->job.state == JOB_EXITED)) {
        who = keeper_who_ran(keeper);
        log_error("the guard process %s, so %s was ended", how, who);
        free(who);
    } else {
        log_error("the guard process %s, so the %s", how,
                  begun ? "command was ended" : omitted(keeper));
    }
    return keeper_stop(keeper, EXITCODE_INTERNAL);
}

/*
 * Returns whether it is still joining the queue.  A contender that leaves before it has read the
 * lock's record cannot be counted out, and the next holder waits a lease for it.
 */
static bool is_joining(const struct keeper *keeper)
{
    return keeper->try.locks && lockset_phase(keeper->try.locks) == LOCK_JOINING;
}

bool keeper_caller_ended(struct keeper *keeper)
{
    log_error("%s, which %s was to be held for, has ended", keeper->hold->name,
              keeper->options->lock);
    return keeper_stop(keeper, EXITCODE_USAGE);
}

bool keeper_cut_short(struct keeper *keeper)
{
    if (keeper->news.ended_by)
        ended_by_signal(keeper);
    else if (keeper->news.guard_dead)
        keeper_guard_failed(keeper, "was killed");
    else if (keeper->news.abandoned)
        keeper_front_died(keeper);
    else if (keeper->try.session && session_refused(keeper->try.session))
        keeper_not_taken(keeper, EXITCODE_NOPERM, contact_refused(keeper->try.session));
    else if (keeper->news.caller_ended && !is_joining(keeper))
        keeper_caller_ended(keeper);
    else
        return false;
    return true;
}
