/* The spans of a lease, and which combinations zkflock accepts. */
#include <string.h>

#include "base/clock.h"
#include "base/lease.h"
#include "unit.h"

#define MS(n) (INT64_C(n) * CLOCK_MS)

static void test_spans(void)
{
    static const struct lease expected[] = {
        /* length, interval, patience, grace, margin */
        {MS(15000), MS(2500), MS(2500), MS(3000), MS(1000)},
        {MS(4500), MS(750), MS(800), MS(900), MS(300)},
        {MS(3600), MS(600), MS(800), MS(720), MS(300)},
        {MS(600000), MS(100000), MS(100000), MS(120000), MS(40000)},
    };

    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct lease lease = lease_plan(expected[i].length, LEASE_OWN_GRACE);

        CHECK("own grace", memcmp(&lease, &expected[i], sizeof(lease)) == 0);
        CHECK("fits", lease_fits(&lease));
        lease = lease_plan(expected[i].length, 0);
        CHECK("no grace", lease.grace == 0 && lease.margin == expected[i].margin);
    }
}

/* A lease of 15 s whose last proof was sent at 70 ms: grace 3 s, margin 1 s. */
static void test_times(void)
{
    const struct lease lease = lease_plan(MS(15000), LEASE_OWN_GRACE);
    const int64_t end = lease_end(lease.length, MS(70));

    CHECK("end", end == MS(15070));
    CHECK("proven at", lease_proven_at(lease.length, end) == MS(70));
    CHECK("next proof", lease_next_proof(&lease, MS(70)) == MS(2570));
    CHECK("first signal", lease_signal_time(&lease, end) == MS(11070));
    CHECK("guard due", lease_guard_due(&lease, end) == MS(12570));
    CHECK("KILL", lease_kill_time(&lease, end) == MS(14070));
    CHECK("guard late", lease_guard_late(&lease, end) == MS(14570));
}

/* The grace has to be shorter than 15 - 2.5 - 2.5 - 1 - 1 = 8 s. */
static void test_fit(void)
{
    struct lease lease = lease_plan(MS(15000), MS(8000) - 1);

    CHECK("just", lease_fits(&lease));
    lease = lease_plan(MS(15000), MS(8000));
    CHECK("just not", !lease_fits(&lease));
    CHECK("default", lease_with_room(MS(2000)) == MS(15000));
    CHECK("half a second more", lease_with_room(MS(8000)) == MS(15500));
    CHECK("fits again", lease_with_room(MS(20000)) == MS(35000));
}

static void test_fresh(void)
{
    CHECK("at once", lease_is_fresh(MS(6000), MS(50), MS(50)));
    CHECK("when the next one is due", lease_is_fresh(MS(6000), MS(50), MS(1050)));
    CHECK("later", !lease_is_fresh(MS(6000), MS(50), MS(1050) + 1));
    /* The patience with a server is longer than a sixth of this lease. */
    CHECK("short lease", lease_is_fresh(MS(3600), MS(50), MS(650)));
    CHECK("short lease, later", !lease_is_fresh(MS(3600), MS(50), MS(650) + 1));
}

static void test_together(void)
{
    const struct lease_hold a = {.length = MS(15000), .proven_at = MS(70)};
    const struct lease_hold b = {.length = MS(4000), .proven_at = MS(90)};
    struct lease_hold both = lease_together(a, b);

    CHECK("the smaller lease from the older proof",
          both.length == MS(4000) && both.proven_at == MS(70));
    both = lease_together(b, a);
    CHECK("the other way round", both.length == MS(4000) && both.proven_at == MS(70));
    both = lease_together(LEASE_HOLD_NONE, a);
    CHECK("one alone", both.length == MS(15000) && both.proven_at == MS(70));
}

static void test_faults(void)
{
    const int64_t lengths[] = {MS(3500), MS(4000), MS(15000), MS(600000)};
    char fault[LEASE_FAULT_SIZE];

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        CHECK("none", !lease_fault(lengths[i], LEASE_OWN_GRACE, LEASE_OWN_DELAY, fault));
        CHECK("no delay", !lease_fault(lengths[i], LEASE_OWN_GRACE, 0, fault));
        CHECK("delay of a lease", !lease_fault(lengths[i], LEASE_OWN_GRACE, lengths[i], fault));
        CHECK("shorter delay", lease_fault(lengths[i], LEASE_OWN_GRACE, lengths[i] - 1, fault));
        CHECK("least delay", lease_fault(lengths[i], LEASE_OWN_GRACE, 1, fault));
    }
    CHECK("too short", lease_fault(MS(3000), LEASE_OWN_GRACE, LEASE_OWN_DELAY, fault) &&
                           strstr(fault, "it takes 3.5 s or more"));
    CHECK("no lease at all", lease_fault(1, 0, LEASE_OWN_DELAY, fault));
    CHECK("too short for its grace", lease_fault(MS(2000), MS(8000), LEASE_OWN_DELAY, fault) &&
                                         strstr(fault, "it takes 15.5 s or more"));
    CHECK("too short for any grace", lease_fault(MS(2000), MS(100), LEASE_OWN_DELAY, fault) &&
                                         strstr(fault, "it takes 3 s or more"));
    /* zkflock accepts what it proposes. */
    CHECK("3", !lease_fault(MS(3000), MS(100), LEASE_OWN_DELAY, fault));
    CHECK("grace", lease_fault(MS(15000), MS(8000), LEASE_OWN_DELAY, fault) &&
                       strstr(fault, "a --kill-after of 7.9 s would do, or a --lease of 15.5 s"));
    CHECK("7.9", !lease_fault(MS(15000), MS(7900), LEASE_OWN_DELAY, fault));
    CHECK("most", lease_fault(MS(15020), MS(9000), LEASE_OWN_DELAY, fault) &&
                      strstr(fault, "a --kill-after of 8 s would do"));
    CHECK("least", lease_fault(MS(2600), MS(1000), LEASE_OWN_DELAY, fault) &&
                       strstr(fault, "a --kill-after of 0 ms would do"));
    CHECK("0", !lease_fault(MS(2600), 0, LEASE_OWN_DELAY, fault));
    CHECK("15.5", !lease_fault(MS(15500), MS(8000), LEASE_OWN_DELAY, fault));
    CHECK("short, but for its grace", lease_fault(MS(3500), MS(2000), LEASE_OWN_DELAY, fault) &&
                                          strstr(fault, "with --kill-after 2 s a lease of 3.5 s"));
}

void unit_lease(void)
{
    test_spans();
    test_times();
    test_fit();
    test_fresh();
    test_together();
    test_faults();
}
