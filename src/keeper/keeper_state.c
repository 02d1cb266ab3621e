#include "keeper/keeper_parts.h"

#include "base/clock.h"
#include "base/debug.h"
#include "base/lease.h"

#define BIT(state) (1U << (state))

void keeper_set_tenure(struct keeper *keeper, enum tenure_state next)
{
    static const unsigned int may_follow[] = {
        [TENURE_NOT_HELD] = BIT(TENURE_NOT_HELD) | BIT(TENURE_HELD),
        [TENURE_HELD] = BIT(TENURE_LOST) | BIT(TENURE_RELEASED),
        [TENURE_LOST] = BIT(TENURE_NOT_HELD),
        [TENURE_RELEASED] = BIT(TENURE_NOT_HELD),
    };

    assert(may_follow[keeper->tenure.state] & BIT(next));
    keeper->tenure.state = next;
}

void keeper_set_job(struct keeper *keeper, enum job_state next)
{
    static const unsigned int may_follow[] = {
        [JOB_NOT_ASKED] = BIT(JOB_ORDERED),
        [JOB_ORDERED] = BIT(JOB_FORKED) | BIT(JOB_STARTED) | BIT(JOB_REFUSED) | BIT(JOB_FAILED),
        [JOB_FORKED] = BIT(JOB_STARTED) | BIT(JOB_FAILED) | BIT(JOB_EXITED),
        [JOB_STARTED] = BIT(JOB_EXITED),
        [JOB_EXITED] = 0,
    };

    assert(may_follow[keeper->job.state] & BIT(next));
    keeper->job.state = next;
}

void keeper_set_run(struct keeper *keeper, enum run_state next)
{
    static const unsigned int may_follow[] = {
        [RUN_NOT_BEGUN] = BIT(RUN_RUNNING),
        [RUN_RUNNING] = BIT(RUN_LINGERING) | BIT(RUN_LOST) | BIT(RUN_ENDING),
        [RUN_LINGERING] = BIT(RUN_LOST) | BIT(RUN_ENDING),
        [RUN_LOST] = BIT(RUN_ENDING),
        [RUN_ENDING] = 0,
    };

    assert(may_follow[keeper->run.state] & BIT(next));
    keeper->run.state = next;
}

int64_t keeper_lease_end(const struct keeper *keeper)
{
    if (!keeper->try.locks)
        return CLOCK_NEVER / 2;
    return lease_end(keeper->lease.length, lockset_proven_at(keeper->try.locks));
}

int64_t keeper_next_proof(const struct keeper *keeper)
{
    if (!keeper->try.locks)
        return CLOCK_NEVER;
    return lease_next_proof(&keeper->lease, lockset_proven_at(keeper->try.locks));
}

static const struct reentry_entry *main_entry(const struct keeper *keeper)
{
    for (size_t i = 0; i < keeper->try.entries_len; i++)
        if (keeper->try.entries[i].main)
            return &keeper->try.entries[i];
    return NULL;
}

const char *keeper_node(const struct keeper *keeper)
{
    const struct reentry_entry *entry = main_entry(keeper);

    return entry ? entry->node : lock_node(lockset_main(keeper->try.locks));
}

int64_t keeper_token(const struct keeper *keeper)
{
    const struct reentry_entry *entry = main_entry(keeper);

    return entry ? entry->token : lock_token(lockset_main(keeper->try.locks));
}

size_t keeper_users(const struct keeper *keeper)
{
    return keeper->users.reentry ? reentry_users(keeper->users.reentry) : 0;
}

/* The guard may have reported that the command is childless before it was told to end the tree, and
 * then says no more. */
bool keeper_nothing_left(const struct keeper *keeper)
{
    const struct keeper_job *job = &keeper->job;

    return job->rest == JOB_EMPTY ||
           (job->state == JOB_EXITED && job->rest == JOB_CHILDLESS && keeper_users(keeper) == 0);
}
