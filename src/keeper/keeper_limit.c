/*
 * The limits on the command's time, --max-runtime and --deadline.  The guard ends the command when
 * its time is up; the keeper watches whether it has, as the guard may be stopped.
 */
#include "keeper/keeper_parts.h"

#include "base/clock.h"

/* Returns when the command's time is up. */
static int64_t limit_at(const struct keeper *keeper)
{
    return clock_earlier(clock_add(keeper->job.begun_at, keeper->options->max_runtime),
                         keeper->late_at);
}

/* Returns when the grace after that ends. */
static int64_t grace_end(const struct keeper *keeper)
{
    return clock_add(keeper->job.end == JOB_LIMIT_OVER ? keeper->job.limit_over_at
                                                       : limit_at(keeper),
                     keeper->lease.grace);
}

void keeper_watch_limit(struct keeper *keeper)
{
    int64_t now = clock_now();

    if (now < grace_end(keeper))
        keeper->limit.overdue_at = 0;
    else if (!keeper->limit.overdue_at)
        keeper->limit.overdue_at = now;
}

int64_t keeper_limit_due(const struct keeper *keeper)
{
    return keeper->limit.overdue_at ? CLOCK_NEVER : grace_end(keeper);
}

/* Counts from when the keeper saw it: where both stood still, the guard too needs a moment. */
int64_t keeper_limit_late(const struct keeper *keeper)
{
    return keeper->limit.overdue_at ? keeper->limit.overdue_at + keeper->lease.margin / 2
                                    : CLOCK_NEVER;
}

void keeper_ended_by_limit(struct keeper *keeper)
{
    bool late = limit_at(keeper) == keeper->late_at;

    if (keeper->job.state == JOB_ORDERED)
        keeper_job_refuse(keeper);
    keeper_say_limit(keeper, late);
    if (keeper->job.state != JOB_REFUSED)
        keeper_stop(keeper, EXITCODE_TIMEOUT);
    else
        keeper_stop(keeper, late ? keeper->options->conflict_status : EXITCODE_INTERNAL);
}
