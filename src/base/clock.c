#include "base/clock.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

int64_t clock_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_BOOTTIME, &ts);
    return (int64_t)ts.tv_sec * CLOCK_S + ts.tv_nsec;
}

int64_t clock_add(int64_t when, int64_t span)
{
    int64_t sum;

    return __builtin_add_overflow(when, span, &sum) ? CLOCK_NEVER : sum;
}

int64_t clock_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct timespec clock_timespec(int64_t span)
{
    return (struct timespec){.tv_sec = (time_t)(span / CLOCK_S), .tv_nsec = (long)(span % CLOCK_S)};
}

int clock_poll_timeout(int64_t deadline)
{
    if (deadline == CLOCK_NEVER)
        return -1;

    int64_t left = deadline - clock_now();

    if (left <= 0)
        return 0;
    left = (left + CLOCK_MS - 1) / CLOCK_MS;
    return left > INT_MAX ? INT_MAX : (int)left;
}

/* Returns the length of the unit that these letters name, ns; 0: there is no such unit. */
static int64_t unit_length(const char *text, size_t len)
{
    static const struct {
        const char *name;
        int64_t length;
    } units[] = {
        {"ms", CLOCK_MS},        {"s", CLOCK_S},        {"m", 60 * CLOCK_S},
        {"min", 60 * CLOCK_S},   {"h", 3600 * CLOCK_S}, {"d", 86400 * CLOCK_S},
        {"w", 604800 * CLOCK_S},
    };

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strlen(units[i].name) == len && memcmp(text, units[i].name, len) == 0)
            return units[i].length;
    return 0;
}

/* Adds a number with its unit to *total, and sets *text behind them; alone: without a unit too. */
static bool take_part(const char **text, bool alone, int64_t *total)
{
    const char *whole = *text;
    size_t whole_len = strspn(whole, "0123456789");
    const char *fraction = whole + whole_len + (whole[whole_len] == '.');
    size_t fraction_len = fraction > whole + whole_len ? strspn(fraction, "0123456789") : 0;
    const char *name = fraction + fraction_len;
    size_t name_len = strspn(name, "abcdefghijklmnopqrstuvwxyz");
    int64_t unit = alone && !*name ? CLOCK_S : unit_length(name, name_len);
    int64_t weight = unit;
    int64_t span = 0;

    if (whole_len + fraction_len == 0 || unit == 0)
        return false;
    for (const char *p = whole; p < whole + whole_len; p++)
        if (__builtin_mul_overflow(span, 10, &span) ||
            __builtin_add_overflow(span, (*p - '0') * unit, &span))
            return false;
    /* Digits below a nanosecond fall away. */
    for (const char *p = fraction; p < name; p++) {
        weight /= 10;
        if (__builtin_add_overflow(span, (*p - '0') * weight, &span))
            return false;
    }
    *text = name + name_len;
    return !__builtin_add_overflow(*total, span, total);
}

bool clock_parse(const char *text, int64_t *span)
{
    const char *rest = text;
    int64_t total = 0;

    do {
        if (!take_part(&rest, rest == text, &total))
            return false;
        if (*rest)
            rest += strspn(rest, " ");
    } while (*rest);
    if (rest[-1] == ' ')
        return false;
    *span = total;
    return true;
}

const char *clock_format(int64_t span, char buf[CLOCK_FORMAT_SIZE])
{
    static const struct {
        int64_t length;
        const char *name;
    } units[] = {{86400 * CLOCK_S, "d"}, {3600 * CLOCK_S, "h"}, {60 * CLOCK_S, "m"}};
    int64_t left = span > 0 ? span : 0;
    size_t len = 0;
    int tenths;

    if (left < CLOCK_S) {
        snprintf(buf, CLOCK_FORMAT_SIZE, "%d ms", (int)(left / CLOCK_MS));
        return buf;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        int64_t number = left / units[i].length;

        left -= number * units[i].length;
        if (number)
            len += (size_t)snprintf(buf + len, CLOCK_FORMAT_SIZE - len, "%s%" PRId64 " %s",
                                    len ? " " : "", number, units[i].name);
    }
    tenths = (int)(left / (100 * CLOCK_MS));
    if (tenths % 10)
        snprintf(buf + len, CLOCK_FORMAT_SIZE - len, "%s%d.%d s", len ? " " : "", tenths / 10,
                 tenths % 10);
    else if (tenths)
        snprintf(buf + len, CLOCK_FORMAT_SIZE - len, "%s%d s", len ? " " : "", tenths / 10);
    return buf;
}

const char *clock_short(int64_t ms, char buf[CLOCK_FORMAT_SIZE])
{
    int64_t s = ms > 0 ? ms / 1000 : 0;

    if (s < 60)
        snprintf(buf, CLOCK_FORMAT_SIZE, "%ds", (int)s);
    else if (s < 3600)
        snprintf(buf, CLOCK_FORMAT_SIZE, "%dm%02ds", (int)(s / 60), (int)(s % 60));
    else if (s < 86400)
        snprintf(buf, CLOCK_FORMAT_SIZE, "%dh%02dm", (int)(s / 3600), (int)(s / 60 % 60));
    else
        snprintf(buf, CLOCK_FORMAT_SIZE, "%" PRId64 "d%02dh", s / 86400, (int)(s / 3600 % 24));
    return buf;
}
