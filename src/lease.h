/*
 * The arithmetic of the lease, the same for keeper and guard.
 *
 * A lock's lease L runs from the sending of the last proof of life that was acknowledged.  When it
 * ends, nothing of the command may be alive.  Looking back from the end:
 *
 *     first signal (TERM)     KILL            end
 *     |<------ grace -------->|<-- margin --->|
 *
 * The margin is what killing a tree and being scheduled late may take.  Proofs are sent six times
 * per lease, so several have to fail before the first signal.
 */
#ifndef ZKFLOCK_LEASE_H
#define ZKFLOCK_LEASE_H

#include <stdint.h>

/* What a lock that is made gets, in ms. */
#define LEASE_DEFAULT_MS 15000

/* Spans in nanoseconds of a lease of that length, ns. */
static inline int64_t lease_proof_interval(int64_t lease)
{
    return lease / 6;
}

static inline int64_t lease_grace(int64_t lease)
{
    return lease / 5;
}

static inline int64_t lease_margin(int64_t lease)
{
    return lease / 15;
}

#endif
