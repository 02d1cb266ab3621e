#include "keeper/keeper_state.h"

#include "base/clock.h"
#include "base/lease.h"

int64_t keeper_lease_end(const struct keeper *keeper)
{
    if (!keeper->locks)
        return CLOCK_NEVER / 2;
    return lease_end(keeper->lease.length, lockset_proven_at(keeper->locks));
}

static const struct reentry_entry *main_entry(const struct keeper *keeper)
{
    for (size_t i = 0; i < keeper->entries_len; i++)
        if (keeper->entries[i].main)
            return &keeper->entries[i];
    return NULL;
}

const char *keeper_node(const struct keeper *keeper)
{
    const struct reentry_entry *entry = main_entry(keeper);

    return entry ? entry->node : lock_node(lockset_main(keeper->locks));
}

int64_t keeper_token(const struct keeper *keeper)
{
    const struct reentry_entry *entry = main_entry(keeper);

    return entry ? entry->token : lock_token(lockset_main(keeper->locks));
}

int64_t keeper_patience(const struct keeper *keeper)
{
    return clock_earlier(keeper->options->connect_timeout, keeper->late_at - keeper->started_at);
}
