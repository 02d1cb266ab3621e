/*
 * Unit tests of what decides without input or output.  Prints a line for each failure and the
 * count at the end.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "contender.h"
#include "lease.h"
#include "list_change.h"
#include "lockname.h"
#include "log_line.h"
#include "note.h"
#include "recipe.h"
#include "record.h"
#include "revocation.h"
#include "servers.h"
#include "settings.h"
#include "text.h"
#include "view.h"
#include "xalloc.h"

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
    CHECK("last", !place.predecessor_first);

    place = recipe_place(children, count, "mylock0000000003");
    CHECK("equal numbers go by name", place.found && place.ahead == 0 && !place.predecessor);
    place = recipe_place(children, count, "x-0000000003");
    CHECK("equal numbers go by name", place.ahead == 1 &&
                                          strcmp(place.predecessor, "mylock0000000003") == 0 &&
                                          place.predecessor_first);
    place = recipe_place(children, count, "_c_eeee-lock-0000000012");
    CHECK("not in the list", !place.found);
    place = recipe_place(children, count, "config");
    CHECK("no contender", !place.found);
    place = recipe_place(NULL, 0, "x-0000000003");
    CHECK("empty list", !place.found && place.ahead == 0);
}

static void test_shared(void)
{
    char *const children[] = {
        (char *)"_c_aa-__READ__0000000001", (char *)"_c_bb-__READ__0000000002",
        (char *)"_c_cc-__WRIT__0000000003", (char *)"_c_dd-__READ__0000000004",
        (char *)"ee__rlock__0000000005",    (char *)"_c_ff-lock-0000000006",
    };
    struct recipe_place place;

    CHECK("curator", recipe_is_shared("_c_aa-__READ__0000000001"));
    CHECK("kazoo", recipe_is_shared("ee__rlock__0000000005"));
    CHECK("writer", !recipe_is_shared("_c_cc-__WRIT__0000000003"));
    CHECK("mark elsewhere", !recipe_is_shared("__READ__-lock-0000000003"));
    CHECK("short", !recipe_is_shared("READ__0000000003"));

    place = recipe_place(children, 6, children[1]);
    CHECK("beside a reader", place.found && !place.predecessor && place.ahead == 0);
    place = recipe_place(children, 6, children[2]);
    CHECK("writer behind readers",
          place.ahead == 2 && place.predecessor == children[1] && !place.predecessor_first);
    place = recipe_place(children, 6, children[3]);
    CHECK("reader behind a writer",
          place.ahead == 1 && place.predecessor == children[2] && !place.predecessor_first);
    place = recipe_place(children, 6, children[4]);
    CHECK("past another reader", place.ahead == 1 && place.predecessor == children[2]);
    place = recipe_place(children, 6, children[5]);
    CHECK("writer last", place.ahead == 5 && place.predecessor == children[4]);
    place = recipe_place(children + 2, 4, children[4]);
    CHECK("the writer is first", place.predecessor == children[2] && place.predecessor_first);
}

/* ---- names as hostile as they come ---- */

enum { FUZZ_CHILDREN = 12, FUZZ_ROUNDS = 20000 };

static uint32_t fuzz_state = 1;

/* The same numbers in every run. */
static uint32_t fuzz_below(uint32_t bound)
{
    fuzz_state = fuzz_state * 1664525 + 1013904223;
    return (fuzz_state >> 8) % bound;
}

static void fuzz_name(char name[64])
{
    static const char *const parts[] = {"_c_",  "lock-",     "__READ__",   "__rlock__", "x",
                                        "-",    "0",         "9",          "\xff",      "00000",
                                        "\x1b", "000000000", "2147483647", "4294967296"};
    size_t len = 0;

    for (uint32_t i = fuzz_below(5); i > 0; i--)
        len +=
            (size_t)sprintf(name + len, "%s", parts[fuzz_below(sizeof(parts) / sizeof(parts[0]))]);
    if (fuzz_below(2))
        sprintf(name + len, "%010u", fuzz_below(6));
    else
        name[len] = '\0';
}

/* By the plainest of means: who stands before own, and who is the last of them. */
static void check_place(char *const *children, const char *own)
{
    struct recipe_place place = recipe_place(children, FUZZ_CHILDREN, own);
    const char *last = NULL;
    size_t ahead = 0;
    int32_t last_n = 0;
    int32_t own_n;
    int32_t n;

    if (!recipe_sequence(own, &own_n)) {
        CHECK(own, !place.found && !place.predecessor);
        return;
    }
    for (size_t i = 0; i < FUZZ_CHILDREN; i++) {
        const char *child = children[i];

        if (!recipe_sequence(child, &n) || (recipe_is_shared(own) && recipe_is_shared(child)) ||
            n > own_n || (n == own_n && strcmp(child, own) >= 0))
            continue;
        ahead++;
        if (!last || n > last_n || (n == last_n && strcmp(child, last) > 0)) {
            last = child;
            last_n = n;
        }
    }
    CHECK(own, place.found && place.ahead == ahead);
    CHECK(own, (place.predecessor == NULL) == (last == NULL) &&
                   (!last || strcmp(place.predecessor, last) == 0));
}

static void test_fuzzed_names(void)
{
    char names[FUZZ_CHILDREN][64];
    char *children[FUZZ_CHILDREN];

    for (int round = 0; round < FUZZ_ROUNDS; round++) {
        for (size_t i = 0; i < FUZZ_CHILDREN; i++) {
            fuzz_name(names[i]);
            children[i] = names[i];
        }
        check_place(children, names[fuzz_below(FUZZ_CHILDREN)]);
        recipe_contenders(children, FUZZ_CHILDREN);
        recipe_is_semaphore(children, FUZZ_CHILDREN);
        recipe_is_kazoo_semaphore(children, FUZZ_CHILDREN);
        recipe_lists(children, FUZZ_CHILDREN, names[0]);
    }
}

static void test_fuzzed_records(void)
{
    struct record read;
    char text[RECORD_SIZE + 8];

    for (int round = 0; round < FUZZ_ROUNDS; round++) {
        const struct record record = {.base = fuzz_below(1000),
                                      .lease_ms = 1 + fuzz_below(90000),
                                      .permits = (int32_t)fuzz_below(3)};
        char again[RECORD_SIZE];
        size_t len = record_encode(&record, text);

        text[fuzz_below((uint32_t)len)] = (char)fuzz_below(256);
        /* What is taken for a record is one to the byte. */
        if (record_decode(text, len, &read))
            CHECK(text, record_encode(&read, again) == len && memcmp(again, text, len) == 0);
    }
}

static void test_fuzzed_notes(void)
{
    char text[NOTE_SIZE + 8];
    char again[NOTE_SIZE];
    int64_t read;

    for (int round = 0; round < FUZZ_ROUNDS; round++) {
        int64_t began = (int64_t)fuzz_below(UINT32_MAX) * fuzz_below(UINT32_MAX / 2);
        size_t len = note_encode(began, text);

        CHECK(text, note_decode(text, len, &read) && read == began);
        text[fuzz_below((uint32_t)len)] = (char)fuzz_below(256);
        /* What is taken for a note is one to the byte. */
        if (note_decode(text, len, &read))
            CHECK(text, read >= 0 && note_encode(read, again) == len && !memcmp(again, text, len));
        len = fuzz_below(sizeof(text));
        for (size_t i = 0; i < len; i++)
            text[i] = (char)fuzz_below(256);
        CHECK("noise", len == 0 || !note_decode(text, len, &read));
    }
}

static void test_unfair(void)
{
    char *const children[] = {(char *)"_c_aa-lock-0000000004", (char *)RECIPE_UNFAIR_NAME,
                              (char *)"_c_bb-__READ__0000000005"};
    struct recipe_place place = recipe_place(children, 3, children[0]);

    CHECK("before the fair ones",
          place.ahead == 1 && place.predecessor == children[1] && place.predecessor_first);
    place = recipe_place(children, 3, RECIPE_UNFAIR_NAME);
    CHECK("waits for all", place.found && place.ahead == 2 && place.predecessor == children[2]);
    char *const unique[] = {(char *)"_c_0123456789abcdef0123456789abcdef-lock-0000000001",
                            (char *)"lock0000000001",
                            (char *)"_c_cc23456789abcdef0123456789abcdef-lock-0000000002"};

    CHECK("there",
          recipe_lists(unique, 2, "/a/_c_0123456789abcdef0123456789abcdef-lock-0000000001"));
    CHECK("other",
          !recipe_lists(unique, 2, "/a/_c_0123456789abcdef0123456789abcdee-lock-0000000001"));
    CHECK("namesake", !recipe_lists(unique, 2, "/a/lock0000000001"));
    CHECK("begins as the prefix does",
          recipe_lists(unique, 3, "/a/_c_cc23456789abcdef0123456789abcdef-lock-0000000002"));
    CHECK("nobody", !recipe_lists(unique, 2, NULL) && !recipe_lists(unique, 2, ""));
    place = recipe_place(children + 1, 1, RECIPE_UNFAIR_NAME);
    CHECK("alone", place.found && place.ahead == 0 && !place.predecessor);
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

static void test_note(void)
{
    static const char *const bad[] = {
        "zkflock-once/1",
        "zkflock-once/1 began=5",
        "zkflock-once/1 began=5\n\n",
        "zkflock-once/1 began=-5\n",
        "zkflock-once/1 began=+5\n",
        "zkflock-once/1 began= 5\n",
        "zkflock-once/1 began=05\n",
        "zkflock-once/1 began=\n",
        "zkflock-once/1 began=9223372036854775808\n",
        "zkflock-once/1 began=99999999999999999999999999999999\n",
        "zkflock-once/2 began=5\n",
        "zkflock/1 base=1 lease=15000ms\n",
        "10.0.0.1",
    };
    static const char zeroes[4096];
    char text[NOTE_SIZE];
    int64_t read = -1;

    CHECK("longest", note_decode(text, note_encode(INT64_MAX, text), &read) && read == INT64_MAX);
    CHECK("none yet", note_decode("", 0, &read) && read == NOTE_NEVER);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(bad[i], !note_decode(bad[i], strlen(bad[i]), &read));
    CHECK("a NUL inside", !note_decode("zkflock-once/1\0began=5\n", 23, &read));
    CHECK("long", !note_decode(zeroes, sizeof(zeroes), &read));

    char *path = note_path("/locks/a");

    CHECK(path, strcmp(path, "/locks/a.once") == 0 && note_is_path(path));
    CHECK("no note", !note_is_path("/locks/a") && !note_is_path("/locks/a.once/b"));
    free(path);
}

static void test_due(void)
{
    static const struct {
        int64_t began, now, period;
        enum note_verdict verdict;
        int64_t ago;
    } cases[] = {
        {NOTE_NEVER, 0, 1000, NOTE_DUE, 0},
        {NOTE_NEVER, 5000, INT64_MAX, NOTE_DUE, 0},
        {5000, 5000, 1000, NOTE_RECENT, 0},
        {5000, 6000, 1000, NOTE_RECENT, 1000},
        {5000, 6001, 1000, NOTE_DUE, 1001},
        /* ahead */
        {6000, 5000, 1000, NOTE_RECENT, -1000},
        {6001, 5000, 1000, NOTE_AHEAD, -1001},
        /* the ends */
        {1, INT64_MAX, 1000, NOTE_DUE, INT64_MAX - 1},
        {INT64_MAX, 1, 1000, NOTE_AHEAD, 1 - INT64_MAX},
        {INT64_MAX, INT64_MIN, 1000, NOTE_AHEAD, -INT64_MAX},
        {INT64_MAX, 0, INT64_MAX, NOTE_RECENT, -INT64_MAX},
        {1, INT64_MAX, INT64_MAX, NOTE_RECENT, INT64_MAX - 1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char subject[16];
        int64_t ago;

        snprintf(subject, sizeof(subject), "case %zu", i);
        CHECK(subject,
              note_judge(cases[i].began, cases[i].now, cases[i].period, &ago) == cases[i].verdict);
        CHECK(subject, ago == cases[i].ago);
    }
}

static bool is_printable(const char *text, size_t size)
{
    size_t len = strnlen(text, size);

    for (size_t i = 0; i < len; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    return len < size;
}

static void check_decoded(const char *data, size_t len)
{
    struct contender c;

    memset(&c, 0xff, sizeof(c));
    contender_decode(data, len, &c);
    CHECK("user", is_printable(c.user, sizeof(c.user)));
    CHECK("host", is_printable(c.host, sizeof(c.host)));
    CHECK("command", is_printable(c.command, sizeof(c.command)));
    CHECK("since", is_printable(c.since, sizeof(c.since)));
    CHECK("version", is_printable(c.version, sizeof(c.version)));
    CHECK("address", is_printable(c.address, sizeof(c.address)));
    CHECK("numbers", c.pid >= 0 && c.terms.permits >= 0 && c.terms.lease_ms >= 0 &&
                         c.terms.settling_ms >= 0 && c.terms.kind <= CONTENDER_PERMIT);
}

/* Ours with bytes replaced, and cut off. */
static void fuzz_decoded(void)
{
    static const char whole[] =
        "zkflock/1 held exclusive\nci@runner7 pid 4711: make deploy\n"
        "since=2026-11-22T02:40:10Z kind=permit permits=3 lease=15000ms settling=9ms "
        "delay=0 version=0.1.0\n";
    char data[sizeof(whole)];

    for (int round = 0; round < 20000; round++) {
        memcpy(data, whole, sizeof(whole));
        for (size_t i = fuzz_below(8); i > 0; i--)
            data[fuzz_below(sizeof(whole))] = (char)(fuzz_below(4) ? fuzz_below(256) : '\n');
        check_decoded(data, fuzz_below(sizeof(whole)));
    }
}

/* Whatever somebody wrote, what comes out is short and printable. */
static void fuzz_contender(void)
{
    char data[600] = "zkflock/1 ";
    char who[CONTENDER_WHO_SIZE];

    for (unsigned int round = 0; round < 20000; round++) {
        size_t len = fuzz_below(sizeof(data));
        bool printable = true;

        /* Half of them begin as ours do. */
        for (size_t i = round % 2 ? 10 : 0; i < len; i++)
            data[i] = (char)(fuzz_below(8) ? fuzz_below(256) : '\n');
        contender_who(data, len, who);
        for (const char *c = who; *c; c++)
            printable &= *c >= ' ' && *c <= '~';
        CHECK("fuzz", printable && strlen(who) < sizeof(who));
        check_decoded(data, len);
        if (round % 2 == 0)
            snprintf(data, sizeof(data), "zkflock/1 ");
    }
}

static void test_revocation(void)
{
    static const char held[] = "zkflock/1 held shared\nci@host pid 1: make\nsince=x lease=4000ms\n";
    static const char *const others[] = {"", "10.0.0.1", "zkflock/1 held exclusive",
                                         "zkflock/2 held exclusive\nx\n", "__REVOKE__"};
    char *words[] = {(char *)"zkflock", (char *)"--revoke", (char *)"\033[2J", NULL};
    char who[CONTENDER_WHO_SIZE];
    struct contender told;

    contender_introduce(words);

    char *text = revocation_encode(held, strlen(held), 17);
    char *again = revocation_encode(text, strlen(text), 18);

    CHECK(text, strncmp(text, "zkflock/1 revoked shared\n", 25) == 0);
    CHECK(text,
          revocation_decode(text, strlen(text), who) && strstr(who, ": zkflock --revoke ?[2J"));
    CHECK("a second request", strcmp(text, again) == 0);
    CHECK("not held", !contender_holds_exclusively(text, strlen(text)));
    contender_decode(text, strlen(text), &told);
    CHECK("who it is", strcmp(told.user, "ci") == 0 && told.terms.lease_ms == 4000 &&
                           told.terms.kind == CONTENDER_SHARED);
    CHECK("since when",
          contender_held_since(&told, 16, 18) == 17 && contender_held_since(&told, 18, 19) == 18);
    CHECK("no request", !revocation_decode(held, strlen(held), who) && !*who);
    CHECK("Curator's", revocation_decode("__REVOKE__", 10, who) && !*who);
    CHECK("more than Curator's", !revocation_decode("__REVOKE__\n", 11, who));
    CHECK("nobody's", revocation_decode("zkflock/1 revoked x", 19, who) && !*who);
    free(text);
    free(again);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        text = revocation_encode(others[i], strlen(others[i]), 17);
        CHECK(others[i], strcmp(text, "__REVOKE__") == 0);
        free(text);
    }
    for (unsigned int round = 0; round < 20000; round++) {
        char data[300] = "zkflock/1 revoked ";
        size_t len = fuzz_below(sizeof(data));
        bool printable = true;

        for (size_t i = round % 2 ? 18 : 0; i < len; i++)
            data[i] = "r\nevoked by\033"[fuzz_below(13)];
        free(revocation_encode(data, len, 17));
        revocation_decode(data, len, who);
        for (const char *c = who; *c; c++)
            printable &= *c >= ' ' && *c <= '~';
        CHECK("fuzz", printable);
    }
}

static void test_contender(void)
{
    char *words[] = {(char *)"make", (char *)"\033[2Jdeploy\n", NULL};
    const struct contender_terms exclusive = {.kind = CONTENDER_EXCLUSIVE, .lease_ms = 15000};
    const struct contender_terms sharing = {.kind = CONTENDER_SHARED, .lease_ms = 15000};
    char who[CONTENDER_WHO_SIZE];

    contender_introduce(words);

    char *held = contender_encode(CONTENDER_HELD, &exclusive);
    char *waiting = contender_encode(CONTENDER_WAITING, &exclusive);
    char *shared = contender_encode(CONTENDER_HELD, &sharing);

    CHECK(held, contender_holds_exclusively(held, strlen(held)));
    CHECK(waiting, !contender_holds_exclusively(waiting, strlen(waiting)));
    CHECK("nothing", !contender_holds_exclusively("", 0));
    CHECK(shared, !contender_holds_exclusively(shared, strlen(shared)));
    CHECK("cut off", !contender_holds_exclusively(held, strlen("zkflock/1 held exclusive")));

    contender_who(held, strlen(held), who);
    CHECK(who, strstr(who, "@") && strstr(who, " pid ") && strstr(who, ": make ?[2Jdeploy?"));
    CHECK("another's", !*contender_who("10.0.0.1", 8, who));
    CHECK("no second line", !*contender_who("zkflock/1 held", 14, who));
    CHECK("another version", !*contender_who("zkflock/2 held\nx", 16, who));
    fuzz_contender();
    fuzz_decoded();
    free(held);
    free(waiting);
    free(shared);
}

static void test_contender_decoded(void)
{
    char *words[] = {(char *)"make", (char *)"all", NULL};
    const struct contender_terms terms = {.kind = CONTENDER_PERMIT,
                                          .permits = 3,
                                          .lease_ms = 15000,
                                          .no_delay = true,
                                          .settling_ms = 12345};
    struct contender c;

    setenv("LOGNAME", "a pid 7: b@c", 1);
    contender_introduce(words);

    char *data = contender_encode(CONTENDER_HELD, &terms);

    CHECK(data, strncmp(data, "zkflock/1 held exclusive\n", 25) == 0);
    contender_decode(data, strlen(data), &c);
    CHECK(data, c.known && c.held && c.pid > 0);
    CHECK(data, c.terms.kind == CONTENDER_PERMIT && c.terms.permits == 3 &&
                    c.terms.lease_ms == 15000 && c.terms.no_delay && c.terms.settling_ms == 12345);
    CHECK(c.since, strlen(c.since) == 20 && c.since[19] == 'Z');
    CHECK(c.version, strncmp(c.version, "0.", 2) == 0 || strcmp(c.version, "unknown") == 0);
    free(data);

    data = xstrdup("zkflock/1 waiting shared\nci@r@7 pid 12: x: y\n");
    contender_decode(data, strlen(data), &c);
    CHECK(data, c.known && !c.held && c.terms.kind == CONTENDER_SHARED);
    CHECK(data, strcmp(c.user, "ci@r") == 0 && strcmp(c.host, "7") == 0 && c.pid == 12 &&
                    strcmp(c.command, "x: y") == 0);
    free(data);

    contender_decode("10.0.0.1", 8, &c);
    CHECK("address", !c.known && strcmp(c.address, "10.0.0.1") == 0);
    contender_decode("fe80::1", 7, &c);
    CHECK("address", strcmp(c.address, "fe80::1") == 0);
    contender_decode("10.0.0.1 ", 9, &c);
    CHECK("no address", !*c.address);
    contender_decode("", 0, &c);
    CHECK("nothing", !c.known && !*c.address);
}

/* ---- views ---- */

/* A source with these contenders: name, czxid, settling and so on are set by the caller. */
static struct view_source source_of(const char *const *names, size_t len)
{
    struct view_source source = {.data = "zkflock/1 base=0 lease=15000ms\n"};

    source.data_len = strlen(source.data);
    source.contenders = xcalloc(len + 1, sizeof(source.contenders[0]));
    source.len = len;
    for (size_t i = 0; i < len; i++) {
        source.contenders[i] = (struct view_contender){
            .path = xasprintf("/l/%s", names[i]),
            .read = true,
            .told = {.known = true},
            .session = (int64_t)i + 1,
            .czxid = (int64_t)i + 100,
            .ctime_ms = 1000 * ((int64_t)i + 1),
            .mtime_ms = 1000 * ((int64_t)i + 1),
        };
    }
    return source;
}

static void check_view(const char *what, struct view_source *lock, struct view_source *queue,
                       enum view_state state, size_t holders, const char *order)
{
    struct view view;
    char found[512] = "";
    size_t len = 0;

    view_make(&view, "/l", lock, queue);
    for (size_t i = 0; i < view.len; i++)
        len += (size_t)snprintf(found + len, sizeof(found) - len, "%s%s", i ? " " : "",
                                view_name(&view.contenders[i]));
    CHECK(what, view.state == state);
    CHECK(what, view.holders == holders);
    CHECK(found, strcmp(found, order) == 0);
    view_release(&view);
}

static void test_view(void)
{
    static const char *const plain[] = {"b-0000000012", "a-0000000011", "c-0000000011"};
    static const char *const readers[] = {"x-__READ__0000000003", "x-lock-0000000005",
                                          "x-__READ__0000000004", "x-__READ__0000000006"};
    static const char *const unfair[] = {"x-lock-0000000001", RECIPE_UNFAIR_NAME};
    static const char *const leases[] = {"x-lease-0000000001", "x-lease-0000000002",
                                         "x-lease-0000000003"};
    static const char *const takers[] = {"x-lock-0000000007", "x-lock-0000000008"};
    struct view_source source = source_of(NULL, 0);
    struct view_source queue;

    check_view("nobody", &source, NULL, VIEW_FREE, 0, "");
    source = source_of(plain, 3);
    check_view("in order", &source, NULL, VIEW_HELD, 1, "a-0000000011 c-0000000011 b-0000000012");
    source = source_of(readers, 4);
    check_view("readers", &source, NULL, VIEW_HELD, 2,
               "x-__READ__0000000003 x-__READ__0000000004 x-lock-0000000005 x-__READ__0000000006");
    source = source_of(unfair, 2);
    check_view("unfair and late", &source, NULL, VIEW_HELD, 1,
               "x-lock-0000000001 " RECIPE_UNFAIR_NAME);
    source = source_of(unfair, 2);
    source.contenders[1].czxid = 1;
    check_view("unfair and first", &source, NULL, VIEW_HELD, 1,
               RECIPE_UNFAIR_NAME " x-lock-0000000001");

    source = source_of(plain, 2);
    source.contenders[1].told.terms.settling_ms = 5000;
    check_view("settling", &source, NULL, VIEW_SETTLING, 0, "a-0000000011 b-0000000012");
    source = source_of(plain, 1);
    source.census = (struct recipe_census){.cversion = 3, .children = 1}; /* one has vanished */
    source.pzxid = 100;
    check_view("will settle", &source, NULL, VIEW_SETTLING, 0, "b-0000000012");
    source = source_of(plain, 1);
    source.census = (struct recipe_census){.cversion = 3, .children = 1};
    source.pzxid = 101;
    check_view("one behind vanished", &source, NULL, VIEW_HELD, 1, "b-0000000012");
    source = source_of(plain, 1);
    source.census = (struct recipe_census){.cversion = 3, .children = 1};
    source.pzxid = 100;
    source.contenders[0].told.terms.no_delay = true;
    check_view("does not settle", &source, NULL, VIEW_HELD, 1, "b-0000000012");

    source = source_of(leases, 3);
    source.data = "zkflock/1 base=0 lease=15000ms permits=2\n";
    source.data_len = strlen(source.data);
    queue = source_of(takers, 2);
    queue.contenders[0].session = 3; /* has the third lease too */
    check_view("permits", &source, &queue, VIEW_HELD, 2,
               "x-lease-0000000001 x-lease-0000000002 x-lease-0000000003 x-lock-0000000008");
    source = source_of(leases, 3);
    source.data_len = 0;
    queue = source_of(takers, 1);
    queue.contenders[0].session = 3;
    check_view("nobody knows how many permits", &source, &queue, VIEW_HELD, 2,
               "x-lease-0000000001 x-lease-0000000002 x-lease-0000000003");
    source = source_of(leases, 0);
    queue = source_of(takers, 1);
    check_view("a permit is about to be taken", &source, &queue, VIEW_FREE, 0, "x-lock-0000000007");
}

static void test_view_times(void)
{
    static const char *const names[] = {"a-0000000001", "b-0000000002"};
    struct view_source source = source_of(names, 2);
    struct view view;

    source.contenders[0].told.held = true;
    source.contenders[0].mtime_ms = 9000;
    source.contenders[1].mtime_ms = 9000;
    view_make(&view, "/l", &source, NULL);
    CHECK("holds since it wrote so", view.contenders[0].since_ms == 9000);
    CHECK("waits since it came", view.contenders[1].since_ms == 2000);
    view_release(&view);
}

/* ---- changes ---- */

static int note_change(const struct change *change, void *whose)
{
    char *text = whose;

    sprintf(text + strlen(text), "%s%s%s%s", *text ? ", " : "", list_change_word(change->kind),
            change->contender ? " " : "", change->contender ? view_name(change->contender) : "");
    return 0;
}

static struct view view_of(const char *const *names, size_t len, uint32_t vanished)
{
    struct view_source source = source_of(names, len);
    struct view view;

    view_make(&view, "/l", &source, NULL);
    view.vanished = vanished;
    return view;
}

static void check_changes(struct view *old, struct view *now, const char *expected)
{
    char text[512] = "";

    list_changes(old, old != NULL, now, now != NULL, note_change, text);
    CHECK(text, strcmp(text, expected) == 0);
}

static void test_changes(void)
{
    static const char *const names[] = {"a-0000000001", "b-0000000002", "c-0000000003"};
    struct view none = view_of(names, 0, 0);
    struct view one = view_of(names, 1, 0);
    struct view two = view_of(names, 2, 0);
    struct view three = view_of(names, 3, 0);
    struct view last = view_of(names + 2, 1, 0);
    struct view crashed = view_of(names, 0, 1);

    last.contenders[0].czxid = three.contenders[2].czxid;
    check_changes(NULL, &none, "free");
    check_changes(NULL, &two, "held a-0000000001, waiting b-0000000002");
    check_changes(&none, &one, "acquired a-0000000001");
    check_changes(&one, &three, "waiting b-0000000002, waiting c-0000000003");
    check_changes(&three, &two, "left c-0000000003");
    check_changes(&three, &last, "released a-0000000001, left b-0000000002, acquired c-0000000003");
    check_changes(&one, &crashed, "vanished a-0000000001");
    check_changes(&one, &one, "");
    check_changes(&one, NULL, "released a-0000000001, removed");
    /* Of the same name, but another one. */
    last.contenders[0].czxid++;
    check_changes(&three, &last,
                  "released a-0000000001, left b-0000000002, left c-0000000003, "
                  "acquired c-0000000003");
    view_release(&none);
    view_release(&one);
    view_release(&two);
    view_release(&three);
    view_release(&last);
    view_release(&crashed);
}

/* ---- texts ---- */

static void test_text(void)
{
    char *text = text_clean("a\033[31m\x9b\x7f\n\tb\xff");

    CHECK(text, strcmp(text, "a?[31m????b?") == 0);
    free(text);
    for (size_t width = 0; width < 12; width++) {
        text = text_cut("0123456789", width);
        CHECK(text, text_width(text) == (width < 10 ? width : 10));
        CHECK(text, width >= 10 || width < 4 || strcmp(text + width - 3, "...") == 0);
        free(text);
    }
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
        {"once", "/locks/once"},
        {"a.once/b", "/locks/a.once/b"},
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
        "job.once",
        "0123456789",
    };
    const char *fault;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        char *path = lockname_resolve(good[i].name, LOCKNAME_ROOT, &fault);

        CHECK(good[i].name, path && strcmp(path, good[i].path) == 0);
        free(path);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(bad[i], !lockname_resolve(bad[i], LOCKNAME_ROOT, &fault) && fault && *fault);

    char *longest = malloc(LOCKNAME_MAX + 2);

    memset(longest, 'x', LOCKNAME_MAX + 1);
    longest[0] = '/';
    longest[LOCKNAME_MAX + 1] = '\0';
    CHECK("too long", !lockname_resolve(longest, LOCKNAME_ROOT, &fault));
    longest[LOCKNAME_MAX] = '\0';

    char *path = lockname_resolve(longest, LOCKNAME_ROOT, &fault);

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

static void test_server_addresses(void)
{
    char *fault;
    struct servers *resolved = servers_parse("10.0.0.1:1,[::1]:2/root", &fault);
    struct servers *other = servers_parse("10.0.0.1:1,[::1]:2/root", &fault);

    servers_resolve(resolved, CLOCK_NEVER, -1, &fault);

    char *line = servers_export_addresses(resolved);

    servers_import_addresses(other, line);

    char *a = servers_connect_string(resolved, 0);
    char *b = servers_connect_string(other, 0);

    CHECK(b, strcmp(a, b) == 0);
    free(a);
    free(b);
    free(line);
    servers_free(resolved);
    servers_free(other);
}

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

static void test_lockname_root(void)
{
    const char *fault;
    char *below = lockname_resolve("b", "/a", &fault);
    char *top = lockname_resolve("b", "/", &fault);
    char *path = lockname_resolve("/b", "/a", &fault);

    CHECK("root", strcmp(below, "/a/b") == 0 && strcmp(top, "/b") == 0 && strcmp(path, "/b") == 0);
    CHECK("zookeeper's own", !lockname_resolve("zookeeper", "/", &fault));
    free(below);
    free(top);
    free(path);
}

static void test_log_printable(void)
{
    static const struct {
        const char *text;
        const char *printable;
    } cases[] = {
        {"plain, \xd0\xba\xe9\x8d\xb5\xf0\x9f\x94\x92",
         "plain, \xd0\xba\xe9\x8d\xb5\xf0\x9f\x94\x92"},
        {"\x1b[1m\n\x7f", "\\x1b[1m\\x0a\\x7f"},
        {"\xc2\x9b|\xc2\xa0", "\\xc2\\x9b|\xc2\xa0"}, /* C1; a blank that does not break */
        {"\xff\xc3|\xe9\x8d|\x80", "\\xff\\xc3|\\xe9\\x8d|\\x80"}, /* no UTF-8, or cut off */
        {"\xc0\xaf|\xe0\x80\xaf", "\\xc0\\xaf|\\xe0\\x80\\xaf"},   /* too long a form */
        {"\xed\xa0\x80|\xf4\x90\x80\x80", "\\xed\\xa0\\x80|\\xf4\\x90\\x80\\x80"},
    };
    char out[64];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t len = log_line_printable(out, sizeof(out), cases[i].text);

        CHECK(cases[i].printable, strcmp(out, cases[i].printable) == 0 && len == strlen(out));
    }
    CHECK("whole characters", log_line_printable(out, 4, "ab\xd0\xba") == 2);
    CHECK("whole escapes", log_line_printable(out, 6, "ab\x01") == 2);
}

/* Whatever is said of whichever lock: one object, in the room of one write. */
static void test_fuzzed_log(void)
{
    static const char alphabet[] = "a\"\\\n\x1b\xc2\x9b\xd0\xba\xf0\x9f\x94\x92\xff";
    char message[2 * LOG_LINE_SIZE];
    char lock[1025] = "/";
    char out[LOG_LINE_SYSTEM_SIZE];

    for (int round = 0; round < 2000; round++) {
        size_t message_len = fuzz_below(sizeof(message));
        size_t lock_len = fuzz_below(sizeof(lock));
        const struct log_field fields[] = {{"node", LOG_TEXT, .text = lock},
                                           {"waited_s", LOG_SPAN, .number = fuzz_below(1000000000)},
                                           {0}};
        const struct log_line line = {.event = LOG_ACQUIRED,
                                      .fields = fields,
                                      .lock = lock,
                                      .session = fuzz_below(1000000),
                                      .message = message,
                                      .pid = 1};

        for (size_t i = 0; i < message_len; i++)
            message[i] = alphabet[fuzz_below(sizeof(alphabet) - 1)];
        message[message_len] = '\0';
        for (size_t i = 1; i < lock_len; i++)
            lock[i] = "ab\"\\"[fuzz_below(4)];
        lock[lock_len ? lock_len : 1] = '\0';

        size_t len = log_line_json(&line, out);
        json_t *object = json_loadb(out, len, 0, NULL);

        CHECK(lock, len < LOG_LINE_SIZE && json_is_object(object));
        CHECK(lock, strcmp(json_string_value(json_object_get(object, "lock")), lock) == 0);
        json_decref(object);
        CHECK(lock, log_line_text(&line, true, out) < LOG_LINE_SIZE);
        CHECK(lock, log_line_system(&line, LOG_FORMAT_TEXT, out) < sizeof(out));
        CHECK(lock, log_line_system(&line, LOG_FORMAT_JSON, out) < sizeof(out));
    }
}

int main(void)
{
    test_clock_parse();
    test_clock_format();
    test_clock_short();
    test_clock_deadlines();
    test_sequence();
    test_place();
    test_shared();
    test_unfair();
    test_fuzzed_names();
    test_fuzzed_records();
    test_count();
    test_record();
    test_note();
    test_due();
    test_fuzzed_notes();
    test_contender();
    test_revocation();
    test_contender_decoded();
    test_view();
    test_view_times();
    test_changes();
    test_text();
    test_lockname();
    test_lockname_root();
    test_settings();
    test_servers();
    test_server_addresses();
    test_lease();
    test_log_printable();
    test_fuzzed_log();
    printf("unit: %d checks, %d failed\n", checks, failures);
    return failures > 0;
}
