/*
 * The record of a lock, and the note of --once-per.  What is read is written again as the same
 * bytes, and stays within its limits; what is no record changes nothing.
 */
#include "lock/record.h"

#include "fuzz.h"
#include "lock/note.h"

static void check_record(const char *data, size_t len)
{
    struct record record = {.base = 7, .lease_ms = 7, .permits = 7};
    struct record again;
    char text[RECORD_SIZE];

    if (!record_decode(data, len, &record)) {
        MUST(record.base == 7 && record.lease_ms == 7 && record.permits == 7);
        return;
    }
    MUST(record.lease_ms >= 1000 && record.lease_ms <= INT64_C(86400000) && record.permits >= 0);
    MUST(record_encode(&record, text) == len && memcmp(text, data, len) == 0);
    MUST(record_decode(text, len, &again));
    MUST(again.base == record.base && again.lease_ms == record.lease_ms &&
         again.permits == record.permits);
}

static void check_note(const char *data, size_t len)
{
    int64_t began = -7;
    char text[NOTE_SIZE];

    if (!note_decode(data, len, &began)) {
        MUST(began == -7);
        return;
    }
    MUST(began >= 0);
    MUST(len == 0 || (note_encode(began, text) == len && memcmp(text, data, len) == 0));
}

/* Any record within the limits is read as it was written. */
static void check_written(struct fuzz_input input)
{
    struct record record = {.base = (uint32_t)fuzz_number(&input, 4),
                            .lease_ms = 1000 + (int64_t)(fuzz_number(&input, 4) % 86399001),
                            .permits = (int32_t)(fuzz_number(&input, 4) & INT32_MAX)};
    struct record again;
    char text[RECORD_SIZE];
    int64_t began = (int64_t)(fuzz_number(&input, 8) & INT64_MAX);
    int64_t read;
    int64_t ago;

    MUST(record_decode(text, record_encode(&record, text), &again));
    MUST(again.base == record.base && again.lease_ms == record.lease_ms &&
         again.permits == record.permits);
    MUST(note_decode(text, note_encode(began, text), &read) && read == began);
    note_judge(began, (int64_t)fuzz_number(&input, 8), (int64_t)(fuzz_number(&input, 6)),
               (int64_t)fuzz_number(&input, 6), &ago);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *data = fuzz_copy(bytes, size);

    check_record(data, size);
    check_note(data, size);
    check_written((struct fuzz_input){bytes, size});
    free(data);
    return 0;
}
