/*
 * Unit tests of what decides without input or output.  A file for each subject, with one function
 * that runs all of its tests.
 */
#ifndef UNIT_H
#define UNIT_H

#include <stdbool.h>
#include <stdint.h>

enum { FUZZ_ROUNDS = 20000 };

/* A failure is printed, with SUBJECT, which says which case it was; the test goes on. */
#define CHECK(subject, condition) unit_check((condition), #condition, (subject), __FILE__, __LINE__)

void unit_check(bool ok, const char *what, const char *subject, const char *file, int line);

/* A number below BOUND; the same ones in every run. */
uint32_t fuzz_below(uint32_t bound);

void unit_clock(void);
void unit_recipe(void);
void unit_record(void);
void unit_reply(void);
void unit_contender(void);
void unit_view(void);
void unit_names(void);
void unit_settings(void);
void unit_lease(void);
void unit_log(void);

#endif
