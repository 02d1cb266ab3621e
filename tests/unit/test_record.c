/* A lock's record and the note of its last run. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/note.h"
#include "lock/record.h"
#include "unit.h"

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
        "zkflock/1 base=1 lease=999ms\n",
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
        int64_t began, now, waited, period;
        enum note_verdict verdict;
        int64_t ago;
    } cases[] = {
        {NOTE_NEVER, 0, 0, 1000, NOTE_DUE, 0},
        {NOTE_NEVER, 5000, 0, INT64_MAX, NOTE_DUE, 0},
        {5000, 5000, 0, 1000, NOTE_RECENT, 0},
        {5000, 6000, 0, 1000, NOTE_RECENT, 1000},
        {5000, 6001, 0, 1000, NOTE_DUE, 1001},
        /* behind a wait */
        {5000, 7000, 1000, 1000, NOTE_RECENT, 2000},
        {5000, 7001, 1000, 1000, NOTE_DUE, 2001},
        {5000, 9000, 9000, 1000, NOTE_RECENT, 4000},
        {NOTE_NEVER, 9000, 9000, 1000, NOTE_DUE, 0},
        /* ahead */
        {6000, 5000, 0, 1000, NOTE_RECENT, -1000},
        {6001, 5000, 0, 1000, NOTE_AHEAD, -1001},
        {6001, 5000, 9000, 1000, NOTE_AHEAD, -1001},
        /* the ends */
        {1, INT64_MAX, 0, 1000, NOTE_DUE, INT64_MAX - 1},
        {INT64_MAX, 1, 0, 1000, NOTE_AHEAD, 1 - INT64_MAX},
        {INT64_MAX, 0, INT64_MAX, 1000, NOTE_AHEAD, -INT64_MAX},
        {1, INT64_MAX, INT64_MAX, 1000, NOTE_RECENT, INT64_MAX - 1},
        {INT64_MAX, INT64_MIN, 0, 1000, NOTE_AHEAD, -INT64_MAX},
        {INT64_MAX, 0, 0, INT64_MAX, NOTE_RECENT, -INT64_MAX},
        {1, INT64_MAX, 0, INT64_MAX, NOTE_RECENT, INT64_MAX - 1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char subject[16];
        int64_t ago;

        snprintf(subject, sizeof(subject), "case %zu", i);
        CHECK(subject, note_judge(cases[i].began, cases[i].now, cases[i].waited, cases[i].period,
                                  &ago) == cases[i].verdict);
        CHECK(subject, ago == cases[i].ago);
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

void unit_record(void)
{
    test_record();
    test_fuzzed_records();
    test_note();
    test_due();
    test_fuzzed_notes();
}
