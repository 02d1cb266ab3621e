/*
 * The end of the command's tree.  The guard brings it about.  If the guard is dead, or does not do
 * so in time, the keeper does: the guard's descendants are then its own.
 */
#include "keeper/keeper_parts.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "process/tree.h"

static void take_over(struct keeper *keeper)
{
    keeper->end.by_keeper = true;
    keeper->end.next_kill = 0;
    keeper_kill_guard(keeper);
}

void keeper_begin_end(struct keeper *keeper)
{
    const struct keeper_run *run = &keeper->run;

    if (run->state == RUN_ENDING && keeper->users.reentry)
        reentry_close(keeper->users.reentry);
    keeper_note_delay(keeper, run->next_proof);
    if (run->sent_end > keeper->job.guarded_until)
        keeper_note_delay(keeper, run->sent_at);
    if (run->reason == RUN_GUARD_DEAD || run->reason == RUN_GUARD_MUTE)
        take_over(keeper);
    else if (keeper->job.end == JOB_NOT_ENDED || run->reason == RUN_ABANDONED)
        guard_order(&keeper->guard, GUARD_KILL, run->reason == RUN_ABANDONED);
}

/* Returns when the keeper stops waiting for the guard, and ends the tree itself. */
static int64_t guard_late(const struct keeper *keeper)
{
    if (keeper->run.reason == RUN_LIMIT_OVER || keeper->options->on_lost != LEASE_KILL)
        return keeper_limit_late(keeper);
    return lease_guard_late(&keeper->lease, keeper->job.guarded_until);
}

/* Returns when the lease would end without the proofs since the end was begun. */
static int64_t lease_would_end(const struct keeper *keeper)
{
    return clock_earlier(keeper_lease_end(keeper),
                         lease_end(keeper->lease.length, keeper->run.troubled_at));
}

/*
 * Returns whether nothing but the guard failed, which had not begun to end the command, and nothing
 * was left of it while the lock was held for sure.
 */
static bool ended_for_guard(const struct keeper *keeper)
{
    enum run_reason reason = keeper->run.reason;

    return (reason == RUN_GUARD_DEAD || reason == RUN_GUARD_MUTE || reason == RUN_LIMIT_OVER) &&
           keeper->job.end == JOB_NOT_ENDED && keeper->job.empty_at < keeper_lease_end(keeper);
}

/* Notes that the command had ended by itself before that, which the guard has not told. */
static void take_exit(struct keeper *keeper)
{
    const struct tree_child *process = &keeper->job.process;
    int status = process->wait_status;

    if (ended_for_guard(keeper) && keeper->job.state != JOB_EXITED && process->reaped &&
        !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
        keeper_job_exited(keeper);
}

void keeper_go_on_ending(struct keeper *keeper)
{
    struct keeper_end *end = &keeper->end;
    int64_t now = clock_now();

    if (keeper->job.rest == JOB_EMPTY)
        return;
    if (!end->by_keeper && (keeper->news.guard_dead || now >= guard_late(keeper)))
        take_over(keeper);
    if (!end->by_keeper || now < end->next_kill)
        return;
    end->next_kill = now + tree_kill_pause(&end->kill_round);
    keeper_job_kill(keeper);
    if (keeper->job.rest == JOB_EMPTY)
        take_exit(keeper);
    else if (!end->told_survivor && now >= lease_would_end(keeper))
        end->told_survivor = tree_say_survivor(keeper->command->argv[0], keeper->options->lock,
                                               now >= keeper_lease_end(keeper));
}

int64_t keeper_end_due(const struct keeper *keeper)
{
    return keeper->end.by_keeper ? keeper->end.next_kill : guard_late(keeper);
}
