/* Runs the unit tests; prints a line for each failure and the count at the end. */
#include <stdio.h>

#include "unit.h"

static int checks;
static int failures;
static uint32_t fuzz_state = 1;

void unit_check(bool ok, const char *what, const char *subject, const char *file, int line)
{
    checks++;
    if (ok)
        return;
    failures++;
    printf("%s:%d: failed: %s   (%s)\n", file, line, what, subject);
}

uint32_t fuzz_below(uint32_t bound)
{
    fuzz_state = fuzz_state * 1664525 + 1013904223;
    return (fuzz_state >> 8) % bound;
}

int main(void)
{
    unit_clock();
    unit_recipe();
    unit_record();
    unit_reply();
    unit_contender();
    unit_view();
    unit_names();
    unit_settings();
    unit_lease();
    unit_log();
    printf("unit: %d checks, %d failed\n", checks, failures);
    return failures > 0;
}
