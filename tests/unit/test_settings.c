/* Options, keys and what they come to: settings and the lease. */
#include <string.h>

#include "clock.h"
#include "lease.h"
#include "settings.h"
#include "unit.h"

static void add(struct settings *settings, enum settings_level level, int option, const char *lock,
                const char *text)
{
    const struct setting setting = {.level = level,
                                    .option = option,
                                    .name = (char *)"name",
                                    .text = (char *)text,
                                    .lock = (char *)lock};

    settings_add(settings, &setting);
}

static void test_settings(void)
{
    struct settings settings = {0};
    struct settings more = {0};

    CHECK("none", !settings_find(&settings, 'w', NULL));
    add(&settings, SETTINGS_USER_LOCK, 'w', "a", "user's, for a");
    add(&settings, SETTINGS_SYSTEM_LOCK, 'w', "a", "system's, for a");
    add(&settings, SETTINGS_USER, 'w', NULL, "user's");
    CHECK("lock", strcmp(settings_find(&settings, 'w', "a")->text, "user's, for a") == 0);
    CHECK("other lock", strcmp(settings_find(&settings, 'w', "b")->text, "user's") == 0);
    CHECK("all locks", strcmp(settings_find(&settings, 'w', NULL)->text, "user's") == 0);
    add(&more, SETTINGS_COMMAND_LINE, 'n', NULL, NULL);
    settings_move(&settings, &more);
    CHECK("moved", more.len == 0 && settings.len == 4);
    CHECK("-n is a choice of time", settings_find(&settings, 'w', "a")->option == 'n');
    add(&settings, SETTINGS_COMMAND_LINE, 'w', NULL, "last");
    CHECK("the last of a level", strcmp(settings_find(&settings, 'w', "a")->text, "last") == 0);
    CHECK("one choice", settings_choice('s') == settings_choice(OPT_PERMITS));
    settings_release(&settings);
}

static void test_lease(void)
{
    const int64_t lengths[] = {3500 * CLOCK_MS, 4 * CLOCK_S, 15 * CLOCK_S, 600 * CLOCK_S};
    char fault[LEASE_FAULT_SIZE];

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        const struct lease lease = lease_plan(lengths[i], LEASE_OWN_GRACE);

        CHECK("fits", lease_fits(&lease));
        CHECK("no fault", !lease_fault(lengths[i], LEASE_OWN_GRACE, LEASE_OWN_DELAY, fault));
        /* A proof is due, and a silent server left, before the first signal. */
        CHECK("order", lease.interval + lease.patience < lease.length - lease.grace - lease.margin);
        CHECK("delay", !lease_fault(lengths[i], LEASE_OWN_GRACE, 0, fault) &&
                           !lease_fault(lengths[i], LEASE_OWN_GRACE, lengths[i], fault) &&
                           lease_fault(lengths[i], LEASE_OWN_GRACE, lengths[i] - 1, fault));
    }
    CHECK("too short", lease_fault(3 * CLOCK_S, LEASE_OWN_GRACE, LEASE_OWN_DELAY, fault));
    CHECK("no lease at all", lease_fault(1, 0, LEASE_OWN_DELAY, fault));
    /* What is proposed would do. */
    CHECK("grace", lease_fault(15 * CLOCK_S, 8 * CLOCK_S, LEASE_OWN_DELAY, fault) &&
                       strstr(fault, "a --kill-after of 7.9 s would do, or a --lease of 15.5 s"));
    CHECK("7.9", !lease_fault(15 * CLOCK_S, 7900 * CLOCK_MS, LEASE_OWN_DELAY, fault));
    CHECK("15.5", !lease_fault(15500 * CLOCK_MS, 8 * CLOCK_S, LEASE_OWN_DELAY, fault));
}

void unit_settings(void)
{
    test_settings();
    test_lease();
}
