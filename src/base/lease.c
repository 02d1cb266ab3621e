#include "base/lease.h"

#include <stdio.h>

#include "base/clock.h"

/* The time to connect to another server, maybe just elected, and to get an answer from it. */
#define FAIL_OVER (1 * CLOCK_S)

/* The time in which a loaded machine ends a few processes, whatever the lease. */
#define LEAST_MARGIN (300 * CLOCK_MS)

/* A server that pauses to collect its garbage is not dead. */
#define LEAST_PATIENCE (800 * CLOCK_MS)

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

struct lease lease_plan(int64_t length, int64_t grace)
{
    return (struct lease){
        .length = length,
        .interval = length / 6,
        .patience = later(length / 6, LEAST_PATIENCE),
        .grace = grace == LEASE_OWN_GRACE ? length / 5 : grace,
        .margin = later(length / 15, LEAST_MARGIN),
    };
}

struct lease_hold lease_together(struct lease_hold one, struct lease_hold other)
{
    return (struct lease_hold){.length = clock_earlier(one.length, other.length),
                               .proven_at = clock_earlier(one.proven_at, other.proven_at)};
}

int64_t lease_end(int64_t length, int64_t proven_at)
{
    return proven_at + length;
}

int64_t lease_proven_at(int64_t length, int64_t end)
{
    return end - length;
}

int64_t lease_next_proof(const struct lease *lease, int64_t proven_at)
{
    return proven_at + lease->interval;
}

int64_t lease_kill_time(const struct lease *lease, int64_t end)
{
    return end - lease->margin;
}

int64_t lease_signal_time(const struct lease *lease, int64_t end)
{
    return lease_kill_time(lease, end) - lease->grace;
}

int64_t lease_guard_due(const struct lease *lease, int64_t end)
{
    return lease_kill_time(lease, end) - lease->grace / 2;
}

int64_t lease_guard_late(const struct lease *lease, int64_t end)
{
    return end - lease->margin / 2;
}

bool lease_is_fresh(int64_t length, int64_t proven_at, int64_t now)
{
    return now - proven_at <= lease_plan(length, LEASE_OWN_GRACE).interval;
}

/* Returns how much is left for a grace. */
static int64_t room(const struct lease *lease)
{
    return lease->length - lease->interval - lease->patience - FAIL_OVER - lease->margin;
}

bool lease_fits(const struct lease *lease)
{
    return lease->grace < room(lease);
}

/* Returns the shortest lease that fits, rounded up for a person to read. */
static int64_t least_length(int64_t grace)
{
    const int64_t step = 500 * CLOCK_MS;
    struct lease lease;

    for (int64_t length = step;; length += step) {
        lease = lease_plan(length, grace);
        if (lease_fits(&lease))
            return length;
    }
}

int64_t lease_with_room(int64_t grace)
{
    return later(LEASE_DEFAULT, least_length(grace));
}

static int64_t most_grace(int64_t length)
{
    const int64_t step = 100 * CLOCK_MS;
    const struct lease lease = lease_plan(length, 0);

    return later((room(&lease) - 1) / step * step, 0);
}

bool lease_fault(int64_t length, int64_t grace, int64_t delay, char fault[LEASE_FAULT_SIZE])
{
    const struct lease lease = lease_plan(length, grace);
    const struct lease shortest = lease_plan(length, 0);
    char a[CLOCK_FORMAT_SIZE];
    char b[CLOCK_FORMAT_SIZE];
    char c[CLOCK_FORMAT_SIZE];
    char d[CLOCK_FORMAT_SIZE];

    if (!lease_fits(&shortest) || (!lease_fits(&lease) && grace == LEASE_OWN_GRACE)) {
        snprintf(fault, LEASE_FAULT_SIZE,
                 "a lease of %s is too short to survive the fail-over of a server; it takes %s or "
                 "more",
                 clock_format(length, a), clock_format(least_length(grace), b));
    } else if (!lease_fits(&lease)) {
        snprintf(fault, LEASE_FAULT_SIZE,
                 "with --kill-after %s a lease of %s is too short to survive the fail-over of a "
                 "server; a --kill-after of %s would do, or a --lease of %s",
                 clock_format(grace, a), clock_format(length, b),
                 clock_format(most_grace(length), c), clock_format(least_length(grace), d));
    } else if (delay > 0 && delay < length) {
        snprintf(fault, LEASE_FAULT_SIZE,
                 "--lock-delay %s is shorter than the lease, %s, in which the command of a holder "
                 "that vanished may still run; give at least that, or 0 to take the risk",
                 clock_format(delay, a), clock_format(length, b));
    } else {
        return false;
    }
    return true;
}
