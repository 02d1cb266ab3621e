/*
 * The value of each option.  The first byte says of which.  What is taken lies within the limits of
 * the option's row, and what is refused leaves status 64 alone.  Spans of time that are printed are
 * read as what was printed.
 */
#include "config/values.h"

#include <signal.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "config/option_table.h"
#include "ensemble/znode.h"
#include "fuzz.h"

/* Drops the blanks, which clock_parse() does not take between number and unit. */
static const char *squeeze(char *text)
{
    char *to = text;

    for (const char *from = text; *from; from++)
        if (*from != ' ')
            *to++ = *from;
    *to = '\0';
    return text;
}

static void check_span(const char *text)
{
    char printed[CLOCK_FORMAT_SIZE];
    int64_t span = -7;
    int64_t again = -7;

    if (!clock_parse(text, &span)) {
        MUST(span == -7);
        return;
    }
    MUST(span >= 0);
    clock_format(span, printed);
    MUST(strlen(printed) < CLOCK_FORMAT_SIZE - 1);
    MUST(clock_parse(squeeze(printed), &again));
    MUST(again <= span && span - again < (span < CLOCK_S ? CLOCK_MS : CLOCK_S / 10));
    MUST(strlen(clock_short(span / CLOCK_MS, printed)) < CLOCK_FORMAT_SIZE);
}

static void check_member(const struct options *options, const struct option_row *row)
{
    const char *member = (const char *)options + row->member;

    if (row->take == values_number) {
        MUST(*(const int *)member >= row->least && *(const int *)member <= row->most);
    } else if (row->take == values_status) {
        MUST(*(const int *)member >= 0 && *(const int *)member <= 255);
    } else if (row->take == values_time) {
        MUST(*(const int64_t *)member >= row->least && *(const int64_t *)member <= row->most);
    } else if (row->take == values_limit) {
        MUST(*(const int64_t *)member > 0);
    } else if (row->take == values_wait) {
        MUST(options->wait >= 0);
    } else if (row->take == values_signal) {
        MUST(options->signal > 0 && options->signal < NSIG);
    } else if (row->take == values_pid) {
        MUST(options->hold_for > 0);
    } else if (row->take == values_servers) {
        MUST(options->servers != NULL);
    } else if (row->take == values_acl) {
        MUST(options->acl && options->acl->count > 0);
    } else if (row->take == values_file) {
        MUST(**(char *const *)member == '/');
    } else if (row->take == values_with) {
        MUST(options->with_len > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    const struct option_row *row = &option_table[fuzz_below(&input, (unsigned)option_table_len)];
    bool in_file = fuzz_below(&input, 2);
    char *text = fuzz_text(input.bytes, input.len);
    char name[] = "--option";
    char place[] = "file:1";
    char lock[] = "nightly";
    struct setting setting = {
        .row = row, .name = name, .text = text, .lock = lock, .origin = in_file ? place : NULL};
    struct options options = {0};

    check_span(text);
    if (row->take) {
        int status = row->take(&options, &setting);

        MUST(status == 0 || status == EXITCODE_USAGE);
        if (status == 0)
            check_member(&options, row);
    }
    options_release(&options);
    free(text);
    return 0;
}
