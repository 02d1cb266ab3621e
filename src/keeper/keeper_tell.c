#include "keeper/keeper_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"

/* A late proof is told of when it has been under way for this part of the lease. */
enum { LATE_PART = 12 };

/* Not before one more request was sent to bring its answer, see session.c. */
#define LEAST_LATE (700 * CLOCK_MS)

void keeper_tell_acquired(struct keeper *keeper)
{
    char span[CLOCK_FORMAT_SIZE];

    keeper->acquired_at = clock_now();

    int64_t waited = keeper->acquired_at - keeper->begun_at;
    const struct log_field fields[] = {{"node", LOG_TEXT, .text = keeper_node(keeper)},
                                       {"token", LOG_NUMBER, .number = keeper_token(keeper)},
                                       {"waited_s", LOG_SPAN, .number = waited},
                                       {0}};

    log_event(LOG_ACQUIRED, fields, "holding it as %s, waited %s", keeper_node(keeper),
              clock_format(waited, span));
}

void keeper_tell_lost(struct keeper *keeper, const char *reason, int64_t proof, const char *text)
{
    keeper->ended_at = clock_now();

    int64_t proof_age = keeper->ended_at - proof;
    int64_t held = keeper->ended_at - keeper->acquired_at;
    bool early = !keeper->running && keeper->tries_left > 0;
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

    keeper_tell_lost(keeper, reason, lockset_proven_at(keeper->locks), text);
    free(text);
}

void keeper_tell_released(struct keeper *keeper)
{
    char span[CLOCK_FORMAT_SIZE];

    keeper->ended_at = clock_now();

    int64_t held = keeper->ended_at - keeper->acquired_at;
    const struct log_field fields[] = {
        {"held_s", LOG_SPAN, .number = held},
        {"status", keeper->running ? LOG_NUMBER : LOG_END, .number = keeper->status},
        {0}};

    log_event(LOG_RELEASED, fields, "released, held %s", clock_format(held, span));
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

    if (!keeper->locks)
        return CLOCK_NEVER;
    if (patience < LEAST_LATE)
        patience = LEAST_LATE;

    int64_t due = lockset_proven_at(keeper->locks) + keeper->lease.interval;

    if (keeper->late_proof && due == keeper->late_proof)
        return CLOCK_NEVER;
    if (keeper->late_proof)
        tell_answered(now - keeper->late_proof);
    keeper->late_proof = 0;
    if (now < due + patience)
        return due + patience;
    tell_late(keeper, now - due);
    keeper->late_proof = due;
    return CLOCK_NEVER;
}
