/*
 * The arithmetic of the lease, the same for keeper and guard.
 *
 * A lock's lease L runs from the sending of the last proof of life that was acknowledged.  When it
 * ends, nothing of the command may be alive.  Looking back from the end:
 *
 *     proof sent ... answered     first signal (TERM)     KILL            end
 *     |<-- interval + reserve --->|<------ grace -------->|<-- margin --->|
 *                                             ^                   ^
 *                                       lease_guard_due()   lease_guard_late()
 *
 * The margin covers the time to kill a tree and a late turn on the processor.  Before the first
 * signal the next proof has to become due, and the client library has to give up a silent server
 * and hear from another one: lease_fits().
 *
 * Every time in this picture is computed here, for one lock and for several held as one: length is
 * then the smallest of their leases, and a proof the oldest of their last ones.
 */
#ifndef ZKFLOCK_LEASE_H
#define ZKFLOCK_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* The lease of a new lock unless --lease asks for another one, ns. */
#define LEASE_DEFAULT INT64_C(15000000000)

/* Returns that, or if it is longer, the shortest lease in which this grace fits; ns. */
int64_t lease_with_room(int64_t grace);

/* What the guard does to the command when the lease ends without a proof. */
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

/* Return when a lease of this length ends, from when its last proof was sent; and the reverse. */
int64_t lease_end(int64_t length, int64_t proven_at);
int64_t lease_proven_at(int64_t length, int64_t end);

/* Returns when the next proof is due after one that was sent then. */
int64_t lease_next_proof(const struct lease *lease, int64_t proven_at);

/* Return when the guard sends the first signal, and KILL, in a lease with this end. */
int64_t lease_signal_time(const struct lease *lease, int64_t end);
int64_t lease_kill_time(const struct lease *lease, int64_t end);

/* Returns when the keeper takes the guard for stopped unless it has reported the first signal. */
int64_t lease_guard_due(const struct lease *lease, int64_t end);

/* Returns when the keeper kills the tree itself, if the guard has not done so. */
int64_t lease_guard_late(const struct lease *lease, int64_t end);

/*
 * Returns whether a proof sent then is no older than one after which the next is due, so that the
 * command starts with all of the room above.
 */
bool lease_is_fresh(int64_t length, int64_t proven_at, int64_t now);

/* Returns whether a holder survives the fail-over of a server with these spans. */
bool lease_fits(const struct lease *lease);

/* For lease_fault(): a lock delay that is the lease. */
#define LEASE_OWN_DELAY INT64_C(-1)

#define LEASE_FAULT_SIZE 256

/*
 * Returns whether a lease of this length does not go together with a grace and a lock delay, all
 * ns; then *fault is a sentence that says why and what would do.
 */
bool lease_fault(int64_t length, int64_t grace, int64_t delay, char fault[LEASE_FAULT_SIZE]);

#endif
