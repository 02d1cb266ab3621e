/*
 * Time as zkflock counts it: nanoseconds of CLOCK_BOOTTIME, which goes on while the machine is
 * suspended and which nobody can set.  All deadlines are absolute values of this clock.
 */
#ifndef ZKFLOCK_CLOCK_H
#define ZKFLOCK_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define CLOCK_US INT64_C(1000)
#define CLOCK_MS INT64_C(1000000)
#define CLOCK_S INT64_C(1000000000)

/* A deadline that never comes. */
#define CLOCK_NEVER INT64_MAX

/* Room for what clock_format() writes. */
#define CLOCK_FORMAT_SIZE 32

/* Nanoseconds since boot.  Async-signal-safe. */
int64_t clock_now(void);

/* when + span, CLOCK_NEVER where that would overflow. */
int64_t clock_add(int64_t when, int64_t span);

/* The earlier of two deadlines. */
int64_t clock_earlier(int64_t a, int64_t b);

/* A span, or a point in time, as ppoll(2), timerfd_settime(2) and others take it. */
struct timespec clock_timespec(int64_t span);

/*
 * Milliseconds from now until the deadline, rounded up, as poll(2) takes them: 0 when it has
 * passed, -1 for CLOCK_NEVER.
 */
int clock_poll_timeout(int64_t deadline);

/*
 * Reads a span of time: a decimal number, with a fraction if need be, and a unit (ms, s, m or min,
 * h, d, w; none: seconds), or several with units, with blanks between or not ("1h30m", "1min 30s").
 * Neither signs nor exponents are taken.  Returns whether it is one that fits; *span in
 * nanoseconds.
 */
bool clock_parse(const char *text, int64_t *span);

/*
 * Writes a span as a person likes to read it ("850 ms", "3.2 s", "15 s", "2 m 5 s"), exact to a
 * tenth of a second; returns buf.
 */
const char *clock_format(int64_t span, char buf[CLOCK_FORMAT_SIZE]);

/*
 * A span of milliseconds, any number of them, in few characters and two units at the most: "12s",
 * "2m05s", "3h07m", "4d03h"; returns buf.
 */
const char *clock_short(int64_t ms, char buf[CLOCK_FORMAT_SIZE]);

#endif
