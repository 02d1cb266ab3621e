/* Options, keys and what they come to: settings and the lease. */
#include <string.h>

#include "base/clock.h"
#include "base/lease.h"
#include "config/option_table.h"
#include "unit.h"

static void add(struct settings *settings, enum settings_level level, const struct option_row *row,
                const char *lock, const char *text)
{
    const struct setting setting = {.level = level,
                                    .row = row,
                                    .name = (char *)"name",
                                    .text = (char *)text,
                                    .lock = (char *)lock};

    settings_add(settings, &setting);
}

static void test_settings(void)
{
    static const struct option_row wait = {.choice = CHOICE_WAIT};
    static const struct option_row nonblock = {.choice = CHOICE_WAIT};
    struct settings settings = {0};

    CHECK("none", !settings_find(&settings, CHOICE_WAIT, NULL));
    add(&settings, SETTINGS_USER_LOCK, &wait, "a", "user's, for a");
    add(&settings, SETTINGS_SYSTEM_LOCK, &wait, "a", "system's, for a");
    add(&settings, SETTINGS_USER, &wait, NULL, "user's");
    CHECK("lock", strcmp(settings_find(&settings, CHOICE_WAIT, "a")->text, "user's, for a") == 0);
    CHECK("other lock", strcmp(settings_find(&settings, CHOICE_WAIT, "b")->text, "user's") == 0);
    CHECK("all locks", strcmp(settings_find(&settings, CHOICE_WAIT, NULL)->text, "user's") == 0);
    add(&settings, SETTINGS_COMMAND_LINE, &nonblock, NULL, NULL);
    CHECK("-n is a choice of time", settings_find(&settings, CHOICE_WAIT, "a")->row == &nonblock);
    add(&settings, SETTINGS_COMMAND_LINE, &wait, NULL, "last");
    CHECK("the last of a level",
          strcmp(settings_find(&settings, CHOICE_WAIT, "a")->text, "last") == 0);
    CHECK("one choice", option_table_key("permits")->choice == option_table_key("kind")->choice);
    CHECK("choices of their own", option_table_choice(option_table_key("signal")) !=
                                      option_table_choice(option_table_key("on-lost")));
    settings_release(&settings);
}

void unit_settings(void)
{
    test_settings();
}
