/*
 * Unit tests of what decides without input or output.  Prints a line for each failure and the
 * count at the end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "contender.h"
#include "lockname.h"
#include "recipe.h"
#include "record.h"
#include "servers.h"

static int checks;
static int failures;

static void check(int ok, const char *what, const char *subject, int line)
{
    checks++;
    if (ok)
        return;
    failures++;
    printf("unit.c:%d: failed: %s   (%s)\n", line, what, subject);
}

#define CHECK(subject, condition) check((condition), #condition, (subject), __LINE__)

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
    };
    char buf[CLOCK_FORMAT_SIZE];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CHECK(cases[i].text, strcmp(clock_format(cases[i].span, buf), cases[i].text) == 0);
}

static void test_clock_deadlines(void)
{
    CHECK("never", clock_poll_timeout(CLOCK_NEVER) == -1);
    CHECK("past", clock_poll_timeout(clock_now() - 1) == 0);
    CHECK("rounds up", clock_poll_timeout(clock_now() + 20 * CLOCK_S) == 20000);
    CHECK("far", clock_poll_timeout(clock_now() + INT64_C(1) * 86400 * 365 * CLOCK_S) == INT32_MAX);
    CHECK("overflow", clock_add(INT64_MAX - 1, 2) == CLOCK_NEVER);
}

static void test_sequence(void)
{
    int32_t n = -1;

    CHECK("curator", recipe_sequence("_c_0123-lock-0000000042", &n) && n == 42);
    CHECK("plain", recipe_sequence("x0000000007", &n) && n == 7);
    CHECK("last", recipe_sequence("lock-2147483647", &n) && n == INT32_MAX);
    CHECK("too great", !recipe_sequence("lock-2147483648", &n));
    CHECK("overflown", !recipe_sequence("lock--2147483648", &n));
    CHECK("negative", !recipe_sequence("lock--000000001", &n));
    CHECK("short", !recipe_sequence("000000001", &n));
    CHECK("letters", !recipe_sequence("lock-00000000x1", &n));
    CHECK("digits alone", recipe_sequence("0000000001", &n) && n == 1);
}

static void test_place(void)
{
    char *const children[] = {
        (char *)"_c_ffff-lock-0000000012", (char *)"config",           (char *)"x-0000000003",
        (char *)"_c_0000-lock-0000000011", (char *)"mylock0000000003", (char *)"bad-00000000x4",
    };
    const size_t count = sizeof(children) / sizeof(children[0]);
    struct recipe_place place = recipe_place(children, count, "_c_ffff-lock-0000000012");

    CHECK("last", place.found && place.ahead == 3);
    CHECK("last", strcmp(place.predecessor, "_c_0000-lock-0000000011") == 0);
    CHECK("last", strcmp(place.first, "mylock0000000003") == 0);

    place = recipe_place(children, count, "mylock0000000003");
    CHECK("equal numbers go by name", place.found && place.ahead == 0 && !place.predecessor);
    place = recipe_place(children, count, "x-0000000003");
    CHECK("equal numbers go by name",
          place.ahead == 1 && strcmp(place.predecessor, "mylock0000000003") == 0);
    place = recipe_place(children, count, "_c_eeee-lock-0000000012");
    CHECK("not in the list", !place.found);
    place = recipe_place(children, count, "config");
    CHECK("no contender", !place.found);
    place = recipe_place(NULL, 0, "x-0000000003");
    CHECK("empty list", !place.found && place.ahead == 0);
}

/* What ZooKeeper shows after so many created and departed, so many of them counted. */
static struct recipe_census census(uint32_t created, uint32_t departed, uint32_t counted)
{
    uint32_t children = created - departed;

    return (struct recipe_census){.version = (int32_t)counted,
                                  .cversion = (int32_t)(2 * created - children),
                                  .children = (int32_t)children};
}

static void test_count(void)
{
    CHECK("new", recipe_vanished(census(0, 0, 0), 0) == 0);
    CHECK("all counted", recipe_vanished(census(10, 7, 7), 0) == 0);
    CHECK("two vanished", recipe_vanished(census(10, 7, 5), 0) == 2);
    CHECK("version wraps", recipe_vanished(census(5, 5, 5), 0) == 0);
    CHECK("near the end", recipe_vanished(census(0x7fffffff, 0x7ffffff0, 0x7fffffef), 0) == 1);
    CHECK("beyond 2^30", recipe_vanished(census(0x60000000, 0x5fffff00, 0x5fffff00), 0) == 0);

    struct recipe_census foreign = census(100, 98, 3);
    uint32_t base = recipe_base_for_adoption(foreign);

    foreign.version++;
    CHECK("adopted", recipe_vanished(foreign, base) == 0);
    CHECK("adopted, then one vanished", recipe_vanished(census(100, 99, 4), base) == 1);
    CHECK("adopted, then one left", recipe_vanished(census(100, 99, 5), base) == 0);
    CHECK("more counted than left", !recipe_plausible(recipe_vanished(census(10, 7, 8), 0)));
    CHECK("plausible", recipe_plausible(recipe_vanished(census(10, 7, 6), 0)));
}

static void test_record(void)
{
    const struct record record = {.base = UINT32_MAX, .lease_ms = 15000};
    struct record read = {0};
    char text[RECORD_SIZE];
    size_t len = record_encode(&record, text);
    static const char *const bad[] = {
        "",
        "zkflock/1",
        "zkflock/1 base=1 lease=15000ms",
        "zkflock/1 base=1 lease=15000ms\n\n",
        "zkflock/1 base=-1 lease=15000ms\n",
        "zkflock/1 base= 1 lease=15000ms\n",
        "zkflock/1 base=+1 lease=15000ms\n",
        "zkflock/1 base=01 lease=15000ms\n",
        "zkflock/1 base=4294967296 lease=15000ms\n",
        "zkflock/1 base=1 lease=0ms\n",
        "zkflock/1 base=1 lease=-5ms\n",
        "zkflock/1 base=1 lease=99999999999ms\n",
        "zkflock/2 base=1 lease=15000ms\n",
        "10.0.0.1",
    };

    CHECK(text, record_decode(text, len, &read) && read.base == UINT32_MAX);
    CHECK(text, read.lease_ms == 15000);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(bad[i], !record_decode(bad[i], strlen(bad[i]), &read));
    CHECK("a NUL inside", !record_decode("zkflock/1 base=1\0lease=1ms\n", 27, &read));
    static const char zeroes[4096];

    CHECK("long", !record_decode(zeroes, sizeof(zeroes), &read));
}

static void test_contender(void)
{
    const char *held = contender_encode(CONTENDER_HELD);
    const char *waiting = contender_encode(CONTENDER_WAITING);

    CHECK(held, contender_holds_exclusively(held, strlen(held)));
    CHECK(waiting, !contender_holds_exclusively(waiting, strlen(waiting)));
    CHECK("nothing", !contender_holds_exclusively("", 0));
    CHECK("cut off", !contender_holds_exclusively(held, strlen(held) - 1));
}

static void test_lockname(void)
{
    static const struct {
        const char *name;
        const char *path;
    } good[] = {
        {"deploy", "/locks/deploy"},
        {"web/deploy", "/locks/web/deploy"},
        {"/app/deploy", "/app/deploy"},
        {"with blank", "/locks/with blank"},
        {"\xc3\xbcml\xc3\xa4ut", "/locks/\xc3\xbcml\xc3\xa4ut"},
        {"...", "/locks/..."},
        {"a-000000001", "/locks/a-000000001"},
        {"/zookeepers/x", "/zookeepers/x"},
    };
    static const char *const bad[] = {
        "",
        "/",
        "//",
        "a//b",
        "/a/",
        "a/",
        "..",
        ".",
        "../a",
        "./a",
        "/a/../b",
        "/a/./b",
        "/a/..",
        "/zookeeper",
        "/zookeeper/x",
        "a\nb",
        "a\x01z",
        "a\x7f",
        "\xc2\x80",
        "\xff",
        "\xc0\xaf",
        "\xed\xa0\x80",
        "\xef\xbf\xbf",
        "\xee\x80\x80",
        "\xc3",
        "job-0000000001",
        "0123456789",
    };
    const char *fault;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        char *path = lockname_resolve(good[i].name, &fault);

        CHECK(good[i].name, path && strcmp(path, good[i].path) == 0);
        free(path);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(bad[i], !lockname_resolve(bad[i], &fault) && fault && *fault);

    char *longest = malloc(LOCKNAME_MAX + 2);

    memset(longest, 'x', LOCKNAME_MAX + 1);
    longest[0] = '/';
    longest[LOCKNAME_MAX + 1] = '\0';
    CHECK("too long", !lockname_resolve(longest, &fault));
    longest[LOCKNAME_MAX] = '\0';

    char *path = lockname_resolve(longest, &fault);

    CHECK("longest", path != NULL);
    free(path);
    free(longest);
}

static void test_servers(void)
{
    static const struct {
        const char *text;
        const char *connect;
        const char *turned; /* the next attempt's */
    } good[] = {
        {"10.0.0.1:1", "10.0.0.1:1", "10.0.0.1:1"},
        {"10.0.0.1", "10.0.0.1:2181", "10.0.0.1:2181"},
        {"[::1]:21/a/b", "::1:21/a/b", "::1:21/a/b"},
        {"[::1]", "::1:2181", "::1:2181"},
        {"10.0.0.1:1/", "10.0.0.1:1", "10.0.0.1:1"},
        {"10.0.0.1:1,10.0.0.1:1", "10.0.0.1:1", "10.0.0.1:1"},
    };
    static const char *const bad[] = {
        "",       ",",      "a,",     ":2181",    "a:0",           "a:65536",
        "a:x",    "a:",     "a:-1",   "::1:2181", "[::1",          "[x]:1",
        "[::1]x", "a:1/b/", "a:1//b", "a:1/../b", "a:99999999999", "/chroot",
    };
    char *fault;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct servers *servers = servers_parse(good[i].text, &fault);

        CHECK(good[i].text, servers && servers_resolve(servers, CLOCK_NEVER, -1, &fault) == 0);

        char *first = servers_connect_string(servers, 0);
        char *second = servers_connect_string(servers, 1);

        CHECK(good[i].text, strcmp(first, good[i].connect) == 0);
        CHECK(good[i].text, strcmp(second, good[i].turned) == 0);
        free(first);
        free(second);
        servers_free(servers);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        fault = NULL;
        CHECK(bad[i], !servers_parse(bad[i], &fault) && fault && *fault);
        free(fault);
    }

    /* An even number becomes odd, and every attempt starts with another server. */
    struct servers *two = servers_parse("10.0.0.1:1,10.0.0.2:2", &fault);

    CHECK("two", servers_resolve(two, CLOCK_NEVER, -1, &fault) == 0 && servers_count(two) == 2);

    char *first = servers_connect_string(two, 0);
    char *second = servers_connect_string(two, 1);

    CHECK(first, strcmp(first, "10.0.0.1:1,10.0.0.2:2,10.0.0.1:1") == 0 ||
                     strcmp(first, "10.0.0.2:2,10.0.0.1:1,10.0.0.2:2") == 0);
    CHECK(second, strcmp(first, second) != 0);
    free(first);
    free(second);
    servers_free(two);
}

int main(void)
{
    test_clock_parse();
    test_clock_format();
    test_clock_deadlines();
    test_sequence();
    test_place();
    test_count();
    test_record();
    test_contender();
    test_lockname();
    test_servers();
    printf("unit: %d checks, %d failed\n", checks, failures);
    return failures > 0;
}
