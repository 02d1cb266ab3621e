#include "process/guard_state.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "process/helper.h"

/* How long to try to give a dead keeper's place back; after that, its session has to expire. */
#define SETTLE_PATIENCE (20 * CLOCK_S)

static void report(const struct guard_state *guard, struct guard_message *message)
{
    message->lease_end = guard->lease_end;
    message->when = clock_now();
    /* If the keeper is dead, the end of the link tells of it. */
    send(guard->link, message, offsetof(struct guard_message, node), MSG_NOSIGNAL);
}

void guard_tell(const struct guard_state *guard, enum guard_report type, int number)
{
    report(guard, &(struct guard_message){.type = (int32_t)type, .number = number});
}

void guard_answer(const struct guard_state *guard, enum guard_report type,
                  const struct procid *user)
{
    report(guard, &(struct guard_message){
                      .type = (int32_t)type, .number = user->pid, .started = user->started});
}

void guard_set_timer(const struct guard_state *guard, int64_t when)
{
    struct itimerspec timer = {0};

    if (when != CLOCK_NEVER) {
        if (when <= 0)
            when = 1; /* 0 would disarm it */
        timer.it_value = clock_timespec(when);
    }
    timerfd_settime(guard->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL);
}

bool guard_is_guarding(const struct guard_state *guard)
{
    return guard->state == RUNNING || guard->state == LINGERING;
}

int64_t guard_first_signal_time(const struct guard_state *guard)
{
    return lease_signal_time(&guard->lease, guard->lease_end);
}

void guard_watch(const struct guard_state *guard)
{
    guard_set_timer(guard, clock_earlier(guard_first_signal_time(guard), guard->limit_at));
}

_Noreturn void guard_settle(const struct guard_state *guard)
{
    const struct guard_mandate *mandate = guard->mandate;

    helper_set_title("lock-settler"); /* it has ended its tree: nobody need spare it any more */
    if (mandate->front_link >= 0)
        close(mandate->front_link);
    legacy_settle(mandate->legacy, mandate->servers, mandate->access, SETTLE_PATIENCE);
    _exit(EXITCODE_INTERNAL);
}
