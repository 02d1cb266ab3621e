/*
 * Tells the log of the lock: when it was acquired, released or lost, what became of the command,
 * and which proofs are late.
 *
 * A loss is told by the last proof of which the guard heard in time.  By the time of the message a
 * later one may have been answered: if zkflock itself stood still, contact is back at once.
 */
#include "ensemble/contact.h"
#include "keeper/keeper_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "process/signals.h"

/* A proof is told to be late when it has been under way for this part of the lease. */
enum { LATE_PART = 12 };

/* Not before one more request was sent to bring its answer, see session.c. */
#define LEAST_LATE (700 * CLOCK_MS)

void keeper_tell_acquired(struct keeper *keeper)
{
    char span[CLOCK_FORMAT_SIZE];

    keeper_set_tenure(keeper, TENURE_HELD);
    keeper->tenure.since = clock_now();

    int64_t waited = keeper->tenure.since - keeper->begun_at;
    const struct log_field fields[] = {{"node", LOG_TEXT, .text = keeper_node(keeper)},
                                       {"token", LOG_NUMBER, .number = keeper_token(keeper)},
                                       {"waited_s", LOG_SPAN, .number = waited},
                                       {0}};

    log_event(LOG_ACQUIRED, fields, "holding it as %s, waited %s", keeper_node(keeper),
              clock_format(waited, span));
}

static void tell_lost(struct keeper *keeper, const char *reason, int64_t proof, const char *text)
{
    keeper_set_tenure(keeper, TENURE_LOST);
    keeper->tenure.until = clock_now();

    int64_t proof_age = keeper->tenure.until - proof;
    int64_t held = keeper->tenure.until - keeper->tenure.since;
    bool early = keeper->run.state == RUN_NOT_BEGUN && keeper->outcome.tries_left > 0;
    const struct log_field fields[] = {{"reason", LOG_TEXT, .text = reason},
                                       {"proof_age_s", LOG_SPAN, .number = proof_age},
                                       {"held_s", LOG_SPAN, .number = held},
                                       {0}};

    log_event(early ? LOG_LOST_EARLY : LOG_LOST, fields, "%s", text);
}

void keeper_tell_lost_early(struct keeper *keeper, const char *reason, const char *why)
{
    char *text = xasprintf("lost %s before %s was started: %s", keeper->options->lock,
                           keeper->command->argv[0], why);

    tell_lost(keeper, reason, lockset_proven_at(keeper->try.locks), text);
    free(text);
}

void keeper_tell_released(struct keeper *keeper)
{
    char span[CLOCK_FORMAT_SIZE];

    keeper_set_tenure(keeper, TENURE_RELEASED);
    keeper->tenure.until = clock_now();

    int64_t held = keeper->tenure.until - keeper->tenure.since;
    const struct log_field fields[] = {{"held_s", LOG_SPAN, .number = held},
                                       {"status",
                                        keeper->run.state != RUN_NOT_BEGUN ? LOG_NUMBER : LOG_END,
                                        .number = keeper->outcome.status},
                                       {0}};

    log_event(LOG_RELEASED, fields, "released, held %s", clock_format(held, span));
}

void keeper_forget_tenure(struct keeper *keeper)
{
    keeper_set_tenure(keeper, TENURE_NOT_HELD);
}

/* ---- a loss, and a command that was ended ---- */

static int64_t last_proof(const struct keeper *keeper)
{
    return lease_proven_at(keeper->lease.length, keeper->job.guarded_until);
}

void keeper_note_delay(struct keeper *keeper, int64_t due)
{
    int64_t delay = clock_now() - due;

    if (keeper->delays.due_at >= last_proof(keeper) && keeper->delays.late_by >= delay)
        return;
    keeper->delays.due_at = due;
    keeper->delays.late_by = delay;
}

/* Returns whether zkflock stood still for more than half of the time without a proof. */
static bool stood_still(const struct keeper *keeper)
{
    return keeper->delays.due_at >= last_proof(keeper) &&
           keeper->delays.late_by > (keeper->run.troubled_at - last_proof(keeper)) / 2;
}

static void say_silence(const struct keeper *keeper, char *text, size_t size)
{
    char span[CLOCK_FORMAT_SIZE];
    int64_t now = clock_now();
    time_t then = time(NULL) - (time_t)((now - last_proof(keeper)) / CLOCK_S);
    struct tm tm;
    char when[16] = "";

    if (localtime_r(&then, &tm))
        strftime(when, sizeof(when), "%H:%M:%S", &tm);
    if (lockset_proven_at(keeper->try.locks) > last_proof(keeper))
        snprintf(text, size, "no contact with the ensemble for %s, from %s on",
                 clock_format(keeper->run.troubled_at - last_proof(keeper), span), when);
    else
        snprintf(text, size, "no contact with the ensemble since %s, for %s", when,
                 clock_format(now - last_proof(keeper), span));
}

static void say_standstill(const struct keeper *keeper, char *text, size_t size)
{
    char span[CLOCK_FORMAT_SIZE];
    char lease[CLOCK_FORMAT_SIZE];

    snprintf(text, size, "zkflock itself stood still for %s or longer, too long for a lease of %s",
             clock_format(keeper->delays.late_by, span), clock_format(keeper->lease.length, lease));
}

char *keeper_who_ran(const struct keeper *keeper)
{
    return xasprintf("%s%s", keeper->job.state == JOB_EXITED ? "what was started by " : "",
                     keeper->command->argv[0]);
}

static void say_what_was_done(const struct keeper *keeper, const char *who, char *text, size_t size)
{
    char name[SIGNALS_NAME_SIZE];
    const char *signal = signals_name(keeper->options->signal, name);
    const struct keeper_job *job = &keeper->job;
    bool ended = keeper_nothing_left(keeper);
    bool limited = job->end == JOB_LIMIT_OVER || keeper->run.reason == RUN_LIMIT_OVER;

    if (job->state == JOB_REFUSED)
        snprintf(text, size, "%s was not started", who);
    else if (keeper->options->on_lost == LEASE_WARN && !limited && job->rest != JOB_EMPTY)
        snprintf(text, size, "%s goes on without it (--on-lost warn)", who);
    else if (!ended)
        snprintf(text, size, "%s was sent %s", who, signal);
    else if (job->means == JOB_BY_KILL)
        snprintf(text, size, "%s was killed", who);
    else if (job->means == JOB_BY_SIGNAL_AND_KILL)
        snprintf(text, size, "%s was sent %s, then killed", who, signal);
    else
        snprintf(text, size, "%s was sent %s%s", who, signal, keeper->hold ? "" : " and ended");
}

void keeper_say_lost(struct keeper *keeper, bool gone)
{
    const char *reason = gone ? "gone" : stood_still(keeper) ? "standstill" : "contact";
    int64_t proof = gone ? lockset_proven_at(keeper->try.locks) : last_proof(keeper);
    const char *why = NULL;
    char story[128];
    char done[256];
    char *who = keeper_who_ran(keeper);
    char *cause = NULL;
    char *text;

    if (gone) {
        lockset_failure(keeper->try.locks, &why);
    } else if (stood_still(keeper)) {
        say_standstill(keeper, story, sizeof(story));
    } else {
        say_silence(keeper, story, sizeof(story));
        cause = contact_cause(keeper->try.session);
    }
    say_what_was_done(keeper, who, done, sizeof(done));
    text = xasprintf("lost %s: %s%s; %s", keeper->options->lock, why ? why : story,
                     cause ? cause : "", done);
    tell_lost(keeper, reason, proof, text);
    free(text);
    free(cause);
    free(who);
    hook_tell(keeper->hook, HOOK_LOST);
}

void keeper_say_limit(const struct keeper *keeper, bool late)
{
    char *who = keeper_who_ran(keeper);
    char limit[CLOCK_FORMAT_SIZE];
    char done[256];

    say_what_was_done(keeper, keeper->job.state == JOB_EXITED ? "it" : who, done, sizeof(done));
    bool refused = keeper->job.state == JOB_REFUSED;

    if (refused && late)
        log_error("%s was not started before the end of --deadline %s", who,
                  clock_format(keeper->options->deadline, limit));
    else if (refused)
        log_error("the guard process does not answer, so %s was not started", who);
    else if (late)
        log_error("%s still ran at the end of --deadline %s; %s", who,
                  clock_format(keeper->options->deadline, limit), done);
    else
        log_error("%s ran longer than --max-runtime %s; %s", who,
                  clock_format(keeper->options->max_runtime, limit), done);
    free(who);
}

/* ---- proofs of life ---- */

static void tell_late(const struct keeper *keeper, int64_t late)
{
    int64_t left = keeper_lease_end(keeper) - clock_now();
    const struct log_field fields[] = {
        {"late_s", LOG_SPAN, .number = late}, {"lease_left_s", LOG_SPAN, .number = left}, {0}};
    char a[CLOCK_FORMAT_SIZE];
    char b[CLOCK_FORMAT_SIZE];

    log_event(LOG_PROOF_LATE, fields, "proof late: no answer for %s; the lease ends in %s",
              clock_format(late, a), clock_format(left, b));
}

static void tell_answered(int64_t late)
{
    const struct log_field fields[] = {{"late_s", LOG_SPAN, .number = late}, {0}};
    char span[CLOCK_FORMAT_SIZE];

    log_event(LOG_PROOF_ANSWERED, fields, "proof answered after %s", clock_format(late, span));
}

int64_t keeper_tell_of_proofs(struct keeper *keeper)
{
    int64_t now = clock_now();
    int64_t patience = keeper->lease.length / LATE_PART;

    if (!keeper->try.locks)
        return CLOCK_NEVER;
    if (patience < LEAST_LATE)
        patience = LEAST_LATE;

    int64_t due = keeper_next_proof(keeper);

    if (now < due + patience) {
        if (keeper->delays.late_proof)
            tell_answered(now - keeper->delays.late_proof);
        keeper->delays.late_proof = 0;
        return due + patience;
    }
    if (!keeper->delays.late_proof) {
        tell_late(keeper, now - due);
        keeper->delays.late_proof = due;
    }
    return CLOCK_NEVER;
}
