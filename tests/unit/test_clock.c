/* Spans and deadlines, as typed and as told. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "unit.h"

static void test_clock_parse(void)
{
    static const struct {
        const char *text;
        int64_t span;
    } good[] = {
        {"0", 0},
        {"10", 10 * CLOCK_S},
        {"0.5", 500 * CLOCK_MS},
        {".25", 250 * CLOCK_MS},
        {"3.", 3 * CLOCK_S},
        {"500ms", 500 * CLOCK_MS},
        {"1.5m", 90 * CLOCK_S},
        {"2h", 7200 * CLOCK_S},
        {"1d", 86400 * CLOCK_S},
        {"5min", 300 * CLOCK_S},
        {"2w", 1209600 * CLOCK_S},
        {"1h30m", 5400 * CLOCK_S},
        {"1min 30s", 90 * CLOCK_S},
        {"1.5s500ms", 2 * CLOCK_S},
        {"0.000000001", 1},
        {"0.0000000001", 0},
        {"9223372036", INT64_C(9223372036) * CLOCK_S},
    };
    static const char *const bad[] = {
        "",
        ".",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1e3",
        "1x",
        "1sm",
        "0x10",
        "inf",
        "nan",
        "s",
        "ms",
        "1..2",
        "9223372037",
        "999999999999999999999",
        "106752d",
        "100000d100000d",
        "1h30",
        "1h ",
        "1 h",
        "1h-30m",
        "30m,1s",
        "1mins",
        "1,5",
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        int64_t span = -1;

        CHECK(good[i].text, clock_parse(good[i].text, &span));
        CHECK(good[i].text, span == good[i].span);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t span;

        CHECK(bad[i], !clock_parse(bad[i], &span));
    }
}

static void test_clock_format(void)
{
    static const struct {
        int64_t span;
        const char *text;
    } cases[] = {
        {-5, "0 ms"},
        {850 * CLOCK_MS, "850 ms"},
        {CLOCK_S, "1 s"},
        {3240 * CLOCK_MS, "3.2 s"},
        {15 * CLOCK_S, "15 s"},
        {125 * CLOCK_S, "2 m 5 s"},
        {3660 * CLOCK_S, "1 h 1 m"},
        {76500 * CLOCK_MS, "1 m 16.5 s"},
        {3605 * CLOCK_S, "1 h 5 s"},
        {INT64_C(24000) * 3600 * CLOCK_S, "1000 d"},
        {90061900 * CLOCK_MS, "1 d 1 h 1 m 1.9 s"},
        {INT64_MAX, "106751 d 23 h 47 m 16.8 s"},
    };
    char buf[CLOCK_FORMAT_SIZE];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CHECK(cases[i].text, strcmp(clock_format(cases[i].span, buf), cases[i].text) == 0);
}

static void test_clock_short(void)
{
    static const struct {
        int64_t ms;
        const char *text;
    } spans[] = {
        {-5, "0s"},        {999, "0s"},         {59999, "59s"},      {60000, "1m00s"},
        {125000, "2m05s"}, {3599999, "59m59s"}, {11220000, "3h07m"}, {356400000, "4d03h"},
    };
    char buf[CLOCK_FORMAT_SIZE];

    for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
        CHECK(spans[i].text, strcmp(clock_short(spans[i].ms, buf), spans[i].text) == 0);
}

static void test_clock_deadlines(void)
{
    CHECK("never", clock_poll_timeout(CLOCK_NEVER) == -1);
    CHECK("past", clock_poll_timeout(clock_now() - 1) == 0);
    CHECK("rounds up", clock_poll_timeout(clock_now() + 20 * CLOCK_S) == 20000);
    CHECK("far", clock_poll_timeout(clock_now() + INT64_C(1) * 86400 * 365 * CLOCK_S) == INT32_MAX);
    CHECK("overflow", clock_add(INT64_MAX - 1, 2) == CLOCK_NEVER);
}

void unit_clock(void)
{
    test_clock_parse();
    test_clock_format();
    test_clock_short();
    test_clock_deadlines();
}
