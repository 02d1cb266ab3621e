#include "clock.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

static int64_t unit_length(const char *unit)
{
    static const struct {
        const char *name;
        int64_t length;
    } units[] = {
        {"", CLOCK_S},       {"ms", CLOCK_MS},      {"s", CLOCK_S},
        {"m", 60 * CLOCK_S}, {"h", 3600 * CLOCK_S}, {"d", CLOCK_S * 86400},
    };

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].length;
    return 0;
}

bool clock_parse(const char *text, int64_t *span)
{
    size_t whole_len = strspn(text, "0123456789");
    const char *rest = text + whole_len;
    size_t fraction_len = 0;

    if (*rest == '.') {
        rest++;
        fraction_len = strspn(rest, "0123456789");
        rest += fraction_len;
    }
    if (whole_len + fraction_len == 0)
        return false;

    int64_t unit = unit_length(rest);
    int64_t total = 0;

    if (unit == 0)
        return false;
    for (const char *p = text; p < text + whole_len; p++)
        if (__builtin_mul_overflow(total, 10, &total) ||
            __builtin_add_overflow(total, (*p - '0') * unit, &total))
            return false;

    /* Digits below a nanosecond fall away. */
    int64_t weight = unit;

    for (const char *p = rest - fraction_len; p < rest; p++) {
        weight /= 10;
        if (__builtin_add_overflow(total, (*p - '0') * weight, &total))
            return false;
    }
    *span = total;
    return true;
}

const char *clock_format(int64_t span, char buf[CLOCK_FORMAT_SIZE])
{
    if (span < 0)
        span = 0;

    int64_t s = span / CLOCK_S;

    if (span < CLOCK_S)
        snprintf(buf, CLOCK_FORMAT_SIZE, "%d ms", (int)(span / CLOCK_MS));
    else if (s < 60 && span % CLOCK_S / (100 * CLOCK_MS))
        snprintf(buf, CLOCK_FORMAT_SIZE, "%d.%d s", (int)s,
                 (int)(span % CLOCK_S / (100 * CLOCK_MS)));
    else if (s < 60)
        snprintf(buf, CLOCK_FORMAT_SIZE, "%d s", (int)s);
    else if (s < 3600)
        snprintf(buf, CLOCK_FORMAT_SIZE, "%d m %d s", (int)(s / 60), (int)(s % 60));
    else
        snprintf(buf, CLOCK_FORMAT_SIZE, "%lld h %d m", (long long)(s / 3600),
                 (int)(s % 3600 / 60));
    return buf;
}

const char *clock_short(int64_t ms, char buf[CLOCK_FORMAT_SIZE])
{
    int64_t s = ms > 0 ? ms / 1000 : 0;
    int64_t m = s / 60;
    int64_t h = m / 60;
    int64_t d = h / 24;

    if (m == 0)
        snprintf(buf, CLOCK_FORMAT_SIZE, "%" PRId64 "s", s);
    else if (h == 0)
        snprintf(buf, CLOCK_FORMAT_SIZE, "%" PRId64 "m%02ds", m, (int)(s % 60));
    else if (d == 0)
        snprintf(buf, CLOCK_FORMAT_SIZE, "%" PRId64 "h%02dm", h, (int)(m % 60));
    else
        snprintf(buf, CLOCK_FORMAT_SIZE, "%" PRId64 "d%02dh", d, (int)(h % 24));
    return buf;
}
