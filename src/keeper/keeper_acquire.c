#include "keeper/keeper_parts.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "ensemble/contact.h"
#include "keeper/plan.h"

/* How much longer one that would give up waits while the queue moves. */
#define TURN_PATIENCE (10 * CLOCK_S)

static bool busy(struct keeper *keeper)
{
    const char *name = lockset_current_item(keeper->try.locks)->lock;
    char span[CLOCK_FORMAT_SIZE];
    const struct options *options = keeper->options;
    int64_t waited = keeper_is_late(keeper) ? options->deadline : options->wait;
    char *queue = keeper_describe_queue(keeper);
    char *text;

    if (options->wait == 0)
        text = xasprintf("%s is busy: %s", name, queue);
    else
        text = xasprintf("%s is still busy after %s: %s", name, clock_format(waited, span), queue);
    keeper_tell_busy(keeper, false, text);
    free(text);
    free(queue);
    return keeper_stop(keeper, keeper->options->conflict_status);
}

static bool is_joining(const struct keeper *keeper)
{
    return lockset_phase(keeper->try.locks) == LOCK_JOINING;
}

/*
 * asking_since: for how long an answer has been awaited; CLOCK_NEVER: none is.  At --deadline the
 * question how the queue stands is asked once more.
 */
static int64_t answer_due(const struct keeper *keeper, int64_t asking_since)
{
    int64_t late_at = clock_add(keeper->late_at, is_joining(keeper) ? 0 : OUTLOOK_PATIENCE);

    return clock_earlier(
        contact_deadline(keeper->try.session, keeper->options->connect_timeout, asking_since),
        asking_since == CLOCK_NEVER ? CLOCK_NEVER : late_at);
}

static bool out_of_contact(struct keeper *keeper, bool asks)
{
    struct session *session = keeper->try.session;
    const char *doing = is_joining(keeper) ? "joining the queue" : "waiting";

    if (asks && keeper_is_late(keeper))
        return keeper_too_late(keeper, true,
                               is_joining(keeper)
                                   ? "no answer from the ensemble while joining the queue"
                                   : "no answer from the ensemble while waiting");
    if (session_overloaded(session))
        return keeper_unreachable(keeper, contact_overloaded(session));
    if (session_connected(session))
        return keeper_unreachable(keeper,
                                  contact_mute(session, keeper->options->connect_timeout, doing));
    return keeper_unreachable(keeper, contact_lost(session, doing));
}

/* Returns whether -n only asks if the lock is free, also of those around this zkflock. */
static bool only_asks(const struct options *options)
{
    return options->wait == 0 && !options->reentry;
}

/*
 * Returns whether the lock is held for a process around this one, which would make zkflock wait for
 * itself, for ever; after a message.
 */
static bool held_for_caller(struct keeper *keeper)
{
    const struct options *options = keeper->options;
    int64_t deadline = clock_now() + CLOCK_S;

    for (size_t i = 0; i < 1 + options->with_len; i++) {
        const struct reentry_lock *lock = &keeper->try.wanted[i];
        pid_t caller = 0;
        enum reentry_holder kind = REENTRY_CALLER;

        if (plan_has(keeper->try.items, keeper->try.items_len, lock->path))
            caller = reentry_held_for(lock, options->servers, deadline, &kind);
        if (!caller)
            continue;
        if (kind == REENTRY_COMMAND)
            log_error(
                "%s is held by the zkflock around this one, and this one would wait for itself: "
                "its environment ($ZKFLOCK_HELD) did not get here, or it is another user's, or "
                "--no-reentry was given",
                lock->path);
        else
            log_error(
                "%s is held for process %d, which this one is part of, and this one would wait for "
                "itself; take its environment there, "
                "held=$(zkflock --hold --for $$ --export LOCK) && eval \"$held\", "
                "to use the lock in here, or --unlock it first",
                lock->path, (int)caller);
        keeper_stop(keeper, EXITCODE_USAGE);
        return true;
    }
    return false;
}

/* Adopts the lock's lease: --lease counts only for the zkflock that makes the lock. */
static bool take_lease(struct keeper *keeper)
{
    const struct options *options = keeper->options;
    int64_t length = lockset_lease(keeper->try.locks);
    char fault[LEASE_FAULT_SIZE];
    char span[CLOCK_FORMAT_SIZE];

    if (length == keeper->lease.length)
        return true;
    if (options->lease && options->lease != length)
        log_warning("%s has a lease of %s, which is used here instead of what --lease says; to "
                    "change it, --remove the lock",
                    lockset_shortest(keeper->try.locks), clock_format(length, span));
    if (lease_fault(length, options->kill_after, options->lock_delay, fault)) {
        log_error("%s: %s", lockset_shortest(keeper->try.locks), fault);
        keeper_stop(keeper, EXITCODE_CONFIG);
        return false;
    }
    keeper->lease = lease_plan(length, options->kill_after);
    session_set_patience(keeper->try.session, keeper->lease.patience);
    return true;
}

static void prepare(struct keeper *keeper)
{
    if (keeper->wait.prepared || !lockset_is_next(keeper->try.locks))
        return;
    keeper->wait.prepared = true;
    guard_order(&keeper->guard, GUARD_PREPARE, 0);
}

/* Returns whether others are waited for, or the lease of a vanished holder; not for own proofs. */
static bool is_kept_waiting(const struct keeper *keeper)
{
    enum lock_phase phase = lock_phase(lockset_current(keeper->try.locks));

    return phase == LOCK_WAITING || phase == LOCK_SETTLING;
}

static bool await_lock(struct keeper *keeper)
{
    int64_t give_up_at =
        clock_earlier(clock_add(keeper->try.started_at, keeper->options->wait), keeper->late_at);
    int64_t patience_ends = clock_earlier(clock_add(give_up_at, TURN_PATIENCE), keeper->late_at);
    int64_t asking_since = CLOCK_NEVER;
    bool was_joining = false;
    bool waiting = false;

    keeper->lease = (struct lease){0};
    if (!keeper->try.locks) {
        keeper->lease = lease_plan(LEASE_DEFAULT, keeper->options->kill_after);
        return true;
    }
    for (;;) {
        enum lock_phase phase = lockset_phase(keeper->try.locks);
        int64_t now = clock_now();
        int64_t deadline = CLOCK_NEVER;
        enum keeper_queue queue = KEEPER_QUEUE_NOT_ASKED;
        bool joining = phase == LOCK_JOINING;
        bool asks;

        if (keeper_cut_short(keeper))
            return false;
        if (phase == LOCK_LEAVING || phase == LOCK_LEFT || phase == LOCK_LOST) {
            const char *why;
            enum exitcode status = lockset_failure(keeper->try.locks, &why);

            if (status == EXITCODE_UNREACHABLE)
                return keeper_unreachable(keeper, xstrdup(why));
            log_error("%s", why);
            return keeper_stop(keeper, (int)status);
        }
        if (!joining && !take_lease(keeper))
            return false;
        if (phase == LOCK_HELD)
            break;
        /* -w limits the wait for others; the lease of a vanished holder is waited out anyway. */
        if (phase == LOCK_WAITING) {
            if (!waiting && !only_asks(keeper->options) && held_for_caller(keeper))
                return false;
            waiting = true;
            if (now >= give_up_at) {
                queue = keeper_look_at_queue(keeper, &deadline);
                if (queue == KEEPER_QUEUE_BUSY ||
                    (queue == KEEPER_QUEUE_MOVING && now >= patience_ends))
                    return busy(keeper);
                if (queue == KEEPER_QUEUE_MOVING)
                    deadline = clock_earlier(deadline, patience_ends);
            } else {
                prepare(keeper);
                deadline = give_up_at;
            }
        }
        asks = joining || queue == KEEPER_QUEUE_UNKNOWN;
        if (!asks)
            asking_since = CLOCK_NEVER;
        else if (asking_since == CLOCK_NEVER || joining != was_joining)
            asking_since = now;
        was_joining = joining;
        if (now >= answer_due(keeper, asking_since))
            return out_of_contact(keeper, asks);
        deadline = clock_earlier(deadline, answer_due(keeper, asking_since));
        /* A zkflock that gives up at once has not waited. */
        if (is_kept_waiting(keeper) &&
            (phase != LOCK_WAITING || now < give_up_at || queue == KEEPER_QUEUE_MOVING)) {
            hook_tell(keeper->hook, HOOK_WAITING);
            deadline = clock_earlier(deadline, keeper_tell_wait(keeper));
        }
        keeper_pump(keeper, deadline);
    }
    keeper_tell_acquired(keeper);
    return true;
}

bool keeper_acquire(struct keeper *keeper)
{
    bool held = await_lock(keeper);

    keeper_end_wait(keeper);
    return held;
}
