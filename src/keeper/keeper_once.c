/*
 * --once-per, with the lock in hand: is a run due, and the note that it has succeeded.
 */
#include "keeper/keeper_parts.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"

/* How long to try to note a success, at the most, while others wait for the lock. */
#define NOTE_PATIENCE (5 * CLOCK_S)

/* Waits for events, and meanwhile goes on to prove and to extend the guard's lease. */
static void pump_held(struct keeper *keeper, int64_t *next_proof, int64_t deadline)
{
    int64_t now = clock_now();

    if (now >= *next_proof) {
        lockset_prove(keeper->try.locks);
        guard_extend(&keeper->guard, keeper_lease_end(keeper));
        *next_proof = lease_next_proof(&keeper->lease, now);
    }
    keeper_pump(keeper, clock_earlier(deadline, *next_proof));
}

static bool is_lost(const struct keeper *keeper)
{
    return lockset_phase(keeper->try.locks) == LOCK_LOST;
}

/* Returns the failure of the lock or of the note; *why is NULL if no answer came in time. */
static enum exitcode failure(const struct keeper *keeper, const char **why)
{
    if (is_lost(keeper))
        return lockset_failure(keeper->try.locks, why);
    *why = NULL;
    return once_phase(keeper->once) == ONCE_FAILED ? once_failure(keeper->once, why)
                                                   : EXITCODE_UNREACHABLE;
}

/* Says why the command is not run; an answer that comes later is of no use. */
static bool cannot_tell(struct keeper *keeper)
{
    const struct options *options = keeper->options;
    char span[CLOCK_FORMAT_SIZE];
    const char *why;
    enum exitcode status = failure(keeper, &why);

    if (!why && keeper_is_late(keeper))
        return keeper_too_late(keeper, true, "no answer from the ensemble on when it last ran");
    if (!why)
        return keeper_unreachable(
            keeper,
            xasprintf("no answer from %s for %s on when the last successful run of %s began",
                      servers_text(options->servers), clock_format(options->connect_timeout, span),
                      options->lock));
    if (status == EXITCODE_LOST)
        keeper_tell_lost_early(keeper, "gone", why);
    else
        log_error("%s", why);
    if (status == EXITCODE_LOST && keeper->outcome.tries_left > 0)
        return keeper_unreachable(keeper, xstrdup(why));
    return keeper_stop(keeper, (int)status);
}

static bool ask(struct keeper *keeper)
{
    int64_t deadline =
        clock_earlier(clock_add(clock_now(), keeper->options->connect_timeout), keeper->late_at);
    int64_t next_proof = keeper_next_proof(keeper);

    keeper->once =
        once_new(keeper->try.session, lockset_tags(keeper->try.locks), keeper->options->lock,
                 keeper_node(keeper), keeper->options->once_per, keeper->begun_at);
    for (;;) {
        if (keeper_cut_short(keeper))
            return false;
        if (is_lost(keeper) || once_phase(keeper->once) == ONCE_FAILED)
            return cannot_tell(keeper);
        if (once_phase(keeper->once) != ONCE_ASKING)
            return true;
        if (clock_now() >= deadline)
            return cannot_tell(keeper);
        pump_held(keeper, &next_proof, deadline);
    }
}

static bool skip(struct keeper *keeper)
{
    char ago[CLOCK_FORMAT_SIZE];
    char period[CLOCK_FORMAT_SIZE];

    const struct log_field fields[] = {{"ago_s", LOG_SPAN, .number = once_ago(keeper->once)}, {0}};

    log_event(LOG_SKIPPED, fields,
              "skipped: the last successful run of %s began %s ago, --once-per %s%s",
              keeper->options->lock, clock_format(once_ago(keeper->once), ago),
              clock_format(keeper->options->once_per, period),
              once_ago(keeper->once) > keeper->options->once_per
                  ? ", counted from when zkflock began to wait"
                  : "");
    hook_tell(keeper->hook, HOOK_SKIPPED);
    return keeper_stop(keeper, keeper->options->skip_status);
}

void keeper_forget_once(struct keeper *keeper)
{
    once_free(keeper->once);
    keeper->once = NULL;
}

/* Refuses to run after --deadline, which like -w does not end the wait for a vanished holder. */
static bool is_in_time(struct keeper *keeper)
{
    return !keeper_is_late(keeper) || keeper_too_late(keeper, false, "it was acquired too late");
}

bool keeper_is_due(struct keeper *keeper)
{
    char ago[CLOCK_FORMAT_SIZE];
    char ahead[CLOCK_FORMAT_SIZE];
    bool due;

    if (!is_in_time(keeper))
        return false;
    if (!keeper->options->once_per)
        return true;
    due = ask(keeper);
    if (due && once_phase(keeper->once) == ONCE_RECENT && keeper->options->now)
        log_info("the last successful run of %s began %s ago; running again (--now)",
                 keeper->options->lock, clock_format(once_ago(keeper->once), ago));
    else if (due && once_phase(keeper->once) == ONCE_RECENT)
        due = skip(keeper);
    else if (due && once_ago(keeper->once) < 0)
        log_warning("the last successful run of %s is noted %s in the future: the clock of a "
                    "server is or was wrong; running",
                    keeper->options->lock, clock_format(-once_ago(keeper->once), ahead));
    if (!due)
        keeper_forget_once(keeper);
    return due;
}

static void tell_not_noted(const char *why)
{
    log_warning("the success could not be noted; another host may run it again: %s", why);
}

void keeper_note_success(struct keeper *keeper)
{
    int64_t patience = clock_earlier(NOTE_PATIENCE, keeper->options->connect_timeout);
    int64_t deadline = clock_now() + patience;
    const char *why;

    if (!keeper->once || keeper->job.state == JOB_REFUSED || keeper->outcome.status != 0)
        return;
    /* Under --on-lost warn the status is the command's all the same. */
    if (keeper->tenure.state == TENURE_LOST) {
        tell_not_noted("the lock was lost");
        return;
    }
    keeper_close_reentry(keeper);

    int64_t next_proof = keeper_next_proof(keeper);

    once_note_success(keeper->once);
    while (once_phase(keeper->once) == ONCE_NOTING && !is_lost(keeper) && clock_now() < deadline)
        pump_held(keeper, &next_proof, deadline);
    if (once_phase(keeper->once) != ONCE_NOTED) {
        failure(keeper, &why);
        tell_not_noted(why ? why : "no answer from the ensemble");
    }
    keeper_forget_once(keeper);
}
