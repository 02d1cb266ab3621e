#include "ensemble/pace.h"

#include <sys/random.h>

#include "base/clock.h"

/* All servers that refuse are tried within this. */
#define ROUND (100 * CLOCK_MS)

/* zoo_state() between two connections, for which the library has no name. */
#define BETWEEN_CONNECTIONS 0

/* In mt_adaptor.c; 3.8 and later. */
int lock_reconfig(zhandle_t *zh) __attribute__((weak));
int unlock_reconfig(zhandle_t *zh) __attribute__((weak));

/* At least half of the length, so that those who lost contact together come at different times. */
static int64_t spread(int64_t length)
{
    uint32_t random = 0;

    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = (uint32_t)clock_now();
    return length / 2 + random % (length / 2);
}

static void wake(struct pace *pace, zhandle_t *handle)
{
    if (pace->rests)
        unlock_reconfig(handle);
    pace->rests = false;
}

int64_t pace_tick(struct pace *pace, zhandle_t *handle, int64_t look, int64_t lost_at)
{
    int64_t now = clock_now();
    int64_t most = (lost_at - now) / 4;

    if (!lock_reconfig || !unlock_reconfig)
        return look;
    if (!pace->until || (pace->rests && now >= pace->until)) {
        wake(pace, handle);
        pace->until = now + ROUND;
    } else if (!pace->rests && now >= pace->until && most >= ROUND &&
               zoo_state(handle) == BETWEEN_CONNECTIONS) {
        pace->length = pace->length ? clock_earlier(2 * pace->length, most) : most / 4;
        pace->until = now + spread(pace->length);
        pace->rests = lock_reconfig(handle) == 0;
    }
    return pace->rests ? pace->until : look;
}

void pace_end(struct pace *pace, zhandle_t *handle)
{
    wake(pace, handle);
    *pace = (struct pace){0};
}
