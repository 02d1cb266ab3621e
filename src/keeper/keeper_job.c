/*
 * The command as the guard reports it.  If the guard is dead, the keeper finds out itself: the
 * guard's descendants are then its own.
 */
#include "keeper/keeper_parts.h"

#include "base/clock.h"
#include "base/debug.h"
#include "process/signals.h"
#include "process/tree.h"

void keeper_job_order(struct keeper *keeper, int64_t lease_end)
{
    keeper_set_job(keeper, JOB_ORDERED);
    keeper->job.guarded_until = lease_end;
    keeper->job.begun_at = clock_now();
    guard_go(&keeper->guard,
             &(struct guard_message){.lease_end = lease_end,
                                     .lease = keeper->lease,
                                     .late_at = keeper->late_at,
                                     .max_runtime = keeper->options->max_runtime,
                                     .token = keeper_token(keeper)},
             keeper_node(keeper), keeper->users.reentry ? reentry_name(keeper->users.reentry) : "");
}

/* The end of a lease is reported again where the command survives it; all others are final. */
static void ended(struct keeper_job *job, enum job_end end, const struct guard_message *report)
{
    assert(job->end == JOB_NOT_ENDED || job->end == JOB_LEASE_OVER);
    job->end = end;
    job->guarded_until = report->lease_end;
    if (end == JOB_LIMIT_OVER)
        job->limit_over_at = report->when;
}

static enum job_end end_by_refusal(enum guard_refusal why)
{
    switch (why) {
    case GUARD_REFUSED_LATE:
        return JOB_LIMIT_OVER;
    case GUARD_REFUSED_ORPHANED:
        return JOB_ORPHANED;
    case GUARD_REFUSED_LEASE:
        break;
    }
    return JOB_LEASE_OVER;
}

static void emptied(struct keeper_job *job, enum job_rest rest, int64_t when)
{
    assert(job->rest != JOB_EMPTY);
    job->rest = rest;
    job->empty_at = when;
}

static void killed(struct keeper_job *job)
{
    if (job->means == JOB_BY_SIGNAL)
        job->means = JOB_BY_SIGNAL_AND_KILL;
}

void keeper_job_report(struct keeper *keeper, const struct guard_message *report)
{
    struct keeper_job *job = &keeper->job;

    switch ((enum guard_report)report->type) {
    case GUARD_FORKED:
        keeper_set_job(keeper, JOB_FORKED);
        job->process.pid = report->number;
        job->begun_at = report->when;
        break;
    case GUARD_STARTED:
        keeper_set_job(keeper, JOB_STARTED);
        break;
    case GUARD_NOT_STARTED:
        keeper_set_job(keeper, JOB_FAILED);
        job->exec_error = report->number;
        break;
    case GUARD_STOPPED:
        /* As under flock(1): the job stops with its command.  SIGSTOP was meant for it alone. */
        if (signals_stop(report->number))
            front_stop(keeper->front, report->number, job->process.pid, false);
        break;
    case GUARD_EXITED:
        keeper_set_job(keeper, JOB_EXITED);
        job->wait_status = report->number;
        keeper_leave_for_caller(keeper); /* now that the guard does not watch for their caller */
        break;
    case GUARD_EXTENDED:
        job->guarded_until = report->lease_end;
        break;
    case GUARD_LEASE_OVER:
        ended(job, JOB_LEASE_OVER, report);
        break;
    case GUARD_LIMIT_OVER:
        ended(job, JOB_LIMIT_OVER, report);
        break;
    case GUARD_ORPHANED:
        ended(job, JOB_ORPHANED, report);
        break;
    case GUARD_REFUSED:
        keeper_set_job(keeper, JOB_REFUSED);
        ended(job, end_by_refusal((enum guard_refusal)report->number), report);
        emptied(job, JOB_EMPTY, report->when);
        break;
    case GUARD_KEPT:
    case GUARD_NOT_KEPT:
        keeper_hear_of_user(keeper, &(struct procid){report->number, report->started},
                            report->type == GUARD_KEPT);
        break;
    case GUARD_CHILDLESS:
        emptied(job, JOB_CHILDLESS, report->when);
        break;
    case GUARD_SIGNALLED:
        job->means = JOB_BY_SIGNAL;
        break;
    case GUARD_EMPTY:
        emptied(job, JOB_EMPTY, report->when);
        if (report->number != 0)
            killed(job);
        break;
    }
}

void keeper_job_reaped(struct keeper *keeper, pid_t pid, int wait_status)
{
    tree_note_status(&keeper->job.process, pid, wait_status);
}

void keeper_job_kill(struct keeper *keeper)
{
    pid_t no_child = 0; /* the guard, and the hook runner, are members of the tree */

    killed(&keeper->job);
    if (tree_kill(&no_child, &keeper->job.process))
        emptied(&keeper->job, JOB_EMPTY, clock_now());
}

void keeper_job_exited(struct keeper *keeper)
{
    keeper_set_job(keeper, JOB_EXITED);
    keeper->job.wait_status = keeper->job.process.wait_status;
}

void keeper_job_refuse(struct keeper *keeper)
{
    keeper_set_job(keeper, JOB_REFUSED);
}
