#include "keeper/keeper_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lease.h"
#include "base/log.h"
#include "ensemble/contact.h"
#include "keeper/plan.h"

/* After so long without a connection a person at a terminal is told what zkflock waits for. */
#define SILENCE_BEFORE_NEWS (2 * CLOCK_S)

void keeper_begin_try(struct keeper *keeper, int64_t now)
{
    keeper->try.started_at = now;
    keeper->try.items = plan_new(keeper->options, &keeper->try.items_len);
}

/* Returns how long to wait for a server, ns: --connect-timeout, or what --deadline leaves of it. */
static int64_t patience(const struct keeper *keeper)
{
    return clock_earlier(keeper->options->connect_timeout,
                         keeper->late_at - keeper->try.started_at);
}

static bool resolve(struct keeper *keeper, int64_t deadline)
{
    char *fault;

    while (servers_resolve(keeper->options->servers, deadline, front_caller_fd(keeper->front),
                           &fault) < 0) {
        if (fault)
            return keeper_unreachable(keeper, fault);
        keeper_hear_front(keeper);
        if (keeper_cut_short(keeper))
            return false;
    }
    return true;
}

/*
 * Reads them only now: neither guard nor command shall have them in their memory.  From here on
 * /proc may hide this process from others of its user (PR_SET_DUMPABLE), so it has asked before
 * whether the lock is held around it.
 */
static bool open_access(struct keeper *keeper)
{
    char *fault = NULL;
    int status = 0;

    if (!keeper->access_open)
        status = access_open(&keeper->access, &keeper->options->access, &fault);
    keeper->access_open = status == 0;
    return status == 0 || keeper_not_taken(keeper, status, fault);
}

static bool unreachable(struct keeper *keeper)
{
    char *why = contact_unreachable(keeper->try.session, patience(keeper));

    if (contact_unreachable_status(keeper->try.session) == EXITCODE_UNREACHABLE)
        return keeper_unreachable(keeper, why);
    return keeper_not_taken(keeper, EXITCODE_OSERR, why);
}

static void tell_of_silence(const struct keeper *keeper)
{
    char *silence = contact_silence(keeper->try.session, patience(keeper));

    log_notice("%s", silence);
    free(silence);
}

bool keeper_connect(struct keeper *keeper)
{
    int64_t deadline = keeper->try.started_at + patience(keeper);
    int64_t news_at = keeper->try.started_at + SILENCE_BEFORE_NEWS;
    struct session_terms terms;

    if (!resolve(keeper, deadline) || !keeper_enter(keeper, deadline))
        return false;
    if (keeper->try.items_len == 0)
        return true;
    if (!open_access(keeper))
        return false;
    if (!isatty(STDERR_FILENO))
        news_at = CLOCK_NEVER;
    terms = options_session_terms(keeper->options, &keeper->access);
    keeper->try.session = session_open(&terms);
    if (!keeper->try.session) {
        char *why = contact_not_started(errno);

        log_error("%s", why);
        free(why);
        return keeper_stop(keeper, EXITCODE_OSERR);
    }
    session_set_patience(keeper->try.session,
                         lease_plan(keeper->try.items[0].terms.lease, LEASE_OWN_GRACE).patience);
    keeper->try.locks = lockset_new(keeper->try.session, keeper->try.items, keeper->try.items_len);
    while (!session_connected(keeper->try.session)) {
        int64_t now = clock_now();

        if (keeper_cut_short(keeper))
            return false;
        if (now >= deadline)
            return unreachable(keeper);
        if (now >= news_at) {
            tell_of_silence(keeper);
            news_at = CLOCK_NEVER;
        }
        keeper_pump(keeper, clock_earlier(deadline, news_at));
    }
    return true;
}

/* Frees what belongs to the try, but for its session, and returns that. */
static struct session *end_all_but_session(struct keeper *keeper)
{
    struct session *session = keeper->try.session;

    keeper_end_reentry(keeper);
    keeper_leave_entries(keeper);
    keeper_forget_queue(keeper);
    keeper_forget_once(keeper);
    lockset_free(keeper->try.locks);
    plan_free(keeper->try.items, keeper->try.items_len);
    keeper->try = (struct keeper_try){0};
    return session;
}

void keeper_hang_up(struct keeper *keeper)
{
    session_close(end_all_but_session(keeper));
}

int keeper_detach(struct keeper *keeper)
{
    if (!keeper->try.locks || !lockset_is_vacated(keeper->try.locks)) {
        keeper_hang_up(keeper);
        return -1;
    }
    return session_detach(end_all_but_session(keeper));
}

/* ---- another try ---- */

/* Tells first that a lock which was held for a moment is not any more. */
static void end_try(struct keeper *keeper)
{
    bool held = keeper->tenure.state == TENURE_HELD;

    if (held && lockset_phase(keeper->try.locks) == LOCK_LEFT)
        keeper_tell_released(keeper);
    else if (held)
        keeper_tell_lost_early(keeper, "contact", "no contact with the ensemble");
    keeper_hang_up(keeper);
}

/* Gives a place in the queue back if there is contact.  Returns whether the pause went by. */
static bool pause_between_tries(struct keeper *keeper)
{
    int64_t end = clock_earlier(clock_now() + keeper->options->retry_delay, keeper->late_at);

    if (keeper->try.locks && session_withhold(keeper->try.session))
        lockset_leave(keeper->try.locks);
    else
        end_try(keeper);
    while (clock_now() < end) {
        keeper_pump(keeper, end);
        if (keeper_cut_short(keeper)) {
            /* A signal that ends the pause does not wait for contact. */
            if (keeper->try.session && !session_connected(keeper->try.session))
                end_try(keeper);
            return false;
        }
    }
    return !keeper_is_late(keeper) ||
           keeper_too_late(keeper, true, "no server could be reached before");
}

bool keeper_try_again(struct keeper *keeper)
{
    if (!keeper_may_try_again(keeper) || !pause_between_tries(keeper))
        return false;
    end_try(keeper);
    keeper_forget_tenure(keeper);
    keeper_use_try(keeper);
    keeper_begin_try(keeper, clock_now());
    return true;
}
