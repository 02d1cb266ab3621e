/*
 * The arithmetic of the lease, the same for keeper and guard.
 *
 * A lock's lease L runs from the sending of the last proof of life that was acknowledged.  When it
 * ends, nothing of the command may be alive.  Looking back from the end:
 *
 *     proof sent ... answered     first signal (TERM)     KILL            end
 *     |<-- interval + reserve --->|<------ grace -------->|<-- margin --->|
 *
 * The margin is what killing a tree and being scheduled late may take.  Before the first signal
 * there has to be time for the next proof to be due, for a silent server to be found out and left,
 * and for another one to answer: lease_fits().
 */
#ifndef ZKFLOCK_LEASE_H
#define ZKFLOCK_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* What a lock that is made gets unless something else is asked for, ns. */
#define LEASE_DEFAULT INT64_C(15000000000)

/* The same, or the shortest lease in which this grace fits, if that is longer; ns. */
int64_t lease_with_room(int64_t grace);

/* What is done to the command when the lease ends without a proof. */
enum lease_on_lost {
    LEASE_KILL, /* first signal, after the grace KILL */
    LEASE_TERM, /* first signal only: two holders are possible */
    LEASE_WARN, /* nothing: two holders are possible */
};

/* The spans of a lease, ns. */
struct lease {
    int64_t length;
    int64_t interval; /* between two proofs */
    int64_t patience; /* with a server that does not answer */
    int64_t grace;    /* between first signal and KILL */
    int64_t margin;   /* between KILL and the end */
};

/* For lease_plan(): the grace that goes with the lease. */
#define LEASE_OWN_GRACE INT64_C(-1)

/* length, grace: ns. */
struct lease lease_plan(int64_t length, int64_t grace);

/* What holds a lock: its lease, and when the last proof that was acknowledged was sent. */
struct lease_hold {
    int64_t length;
    int64_t proven_at;
};

/* No lock; lease_together() with another one is that one. */
#define LEASE_HOLD_NONE ((struct lease_hold){.length = CLOCK_NEVER, .proven_at = CLOCK_NEVER})

/* What holds two locks as one: the smaller of the leases, from the older of the proofs. */
struct lease_hold lease_together(struct lease_hold one, struct lease_hold other);

/* Returns when a lease of this length ends whose last proof was sent then. */
int64_t lease_end(int64_t length, int64_t proven_at);

/*
 * Returns true if a proof sent then leaves the command the whole room above at its start: if the
 * next one is not overdue.
 */
bool lease_is_fresh(int64_t length, int64_t proven_at, int64_t now);

/* Whether a holder survives the fail-over of a server with these spans. */
bool lease_fits(const struct lease *lease);

/* For lease_fault(): a lock delay that is the lease. */
#define LEASE_OWN_DELAY INT64_C(-1)

#define LEASE_FAULT_SIZE 256

/*
 * Whether a lease of this length does not go together with a grace and a lock delay, all ns; then
 * *fault is a sentence that says why and what would do.
 */
bool lease_fault(int64_t length, int64_t grace, int64_t delay, char fault[LEASE_FAULT_SIZE]);

#endif
