#include "keeper_state.h"

#include "clock.h"
#include "log.h"

static bool busy(struct keeper *keeper)
{
    char span[CLOCK_FORMAT_SIZE];

    if (keeper->options->wait == 0)
        log_notice("%s is busy: %zu ahead", keeper->options->lock, lock_ahead(keeper->lock));
    else
        log_notice("%s is still busy after %s: %zu ahead", keeper->options->lock,
                   clock_format(keeper->options->wait, span), lock_ahead(keeper->lock));
    return keeper_stop(keeper, keeper->options->conflict_status);
}

/*
 * Until when the ensemble has to say something: a join that is not answered, or contact that does
 * not come back, ends the wait.
 */
static int64_t contact_deadline(const struct keeper *keeper, int64_t joining_since)
{
    int64_t patience = keeper->options->connect_timeout;
    int64_t session = session_timeout_ms(keeper->session) * CLOCK_MS;

    if (!session_connected(keeper->session))
        return clock_add(session_disconnected_since(keeper->session),
                         patience > session ? patience : session);
    return lock_phase(keeper->lock) == LOCK_JOINING ? clock_add(joining_since, patience)
                                                    : CLOCK_NEVER;
}

bool keeper_acquire(struct keeper *keeper)
{
    int64_t give_up_at = clock_add(keeper->started_at, keeper->options->wait);
    int64_t joining_since = clock_now();
    char span[CLOCK_FORMAT_SIZE];

    for (;;) {
        enum lock_phase phase = lock_phase(keeper->lock);
        int64_t now = clock_now();
        int64_t deadline = contact_deadline(keeper, joining_since);

        if (keeper_cut_short(keeper))
            return false;
        if (phase == LOCK_HELD)
            break;
        if (phase == LOCK_LEAVING || phase == LOCK_LEFT || phase == LOCK_LOST) {
            const char *why;
            enum exitcode status = lock_failure(keeper->lock, &why);

            log_error("%s", why);
            return keeper_stop(keeper, (int)status);
        }
        if (now >= deadline) {
            log_error("lost contact with %s while waiting for %s",
                      servers_text(keeper->options->servers), keeper->options->lock);
            return keeper_stop(keeper, EXITCODE_UNREACHABLE);
        }
        /* The limit is on waiting for others; who vanished is waited for all the same. */
        if (phase == LOCK_WAITING) {
            if (now >= give_up_at)
                return busy(keeper);
            deadline = clock_earlier(deadline, give_up_at);
        }
        if (phase != LOCK_JOINING)
            joining_since = now;
        keeper_pump(keeper, deadline);
    }
    log_info("holding %s as %s, waited %s", keeper->options->lock, lock_node(keeper->lock),
             clock_format(clock_now() - keeper->started_at, span));
    return true;
}
