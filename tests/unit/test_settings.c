/* Options, keys and what they come to: settings and the lease. */
#include <string.h>

#include "base/clock.h"
#include "base/lease.h"
#include "config/settings.h"
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

void unit_settings(void)
{
    test_settings();
}
