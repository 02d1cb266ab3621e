/*
 * The command under the lock; keeper_state.h has the diagram.
 *
 * Proofs of life go on all the time, also in ENDING: while there is contact, nobody else gets the
 * lock before the tree is empty.  Once begun, an end is final; a late answer changes nothing.
 */
#include "keeper/keeper_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"

/* Returns whether the command still has its lock, as far as the keeper knows. */
static bool has_lock(const struct keeper *keeper)
{
    return keeper->run.state == RUN_RUNNING || keeper->run.state == RUN_LINGERING;
}

/* ---- proofs ---- */

static void prove(struct keeper *keeper)
{
    struct keeper_run *run = &keeper->run;
    int64_t now = clock_now();

    if (!keeper->try.locks)
        return;
    if (now >= run->next_proof) {
        keeper_note_delay(keeper, run->next_proof);
        lockset_prove(keeper->try.locks);
        run->next_proof = lease_next_proof(&keeper->lease, now);
    }
    if (has_lock(keeper) && keeper_lease_end(keeper) > run->sent_end) {
        if (run->sent_end <= keeper->job.guarded_until)
            run->sent_at = now;
        run->sent_end = keeper_lease_end(keeper);
        guard_extend(&keeper->guard, run->sent_end);
    }
    run->news_at = has_lock(keeper) ? keeper_tell_of_proofs(keeper) : CLOCK_NEVER;
}

/* ---- trouble ---- */

static int64_t guard_due(const struct keeper *keeper)
{
    return lease_guard_due(&keeper->lease, keeper->job.guarded_until);
}

static enum run_reason find_trouble(const struct keeper *keeper)
{
    const struct keeper_run *run = &keeper->run;
    const struct keeper_job *job = &keeper->job;

    if (job->end == JOB_LIMIT_OVER)
        return RUN_LIMIT_OVER;
    if (job->end == JOB_ORPHANED)
        return RUN_ORPHANED;
    if (run->state == RUN_LOST && keeper->news.guard_dead)
        return RUN_GUARD_DEAD;
    if (run->state == RUN_LOST && clock_now() >= keeper_limit_late(keeper))
        return RUN_LIMIT_OVER;
    if (run->state == RUN_LOST)
        return keeper->news.abandoned && !keeper->hold ? RUN_ABANDONED : run->reason;
    if (keeper->try.locks && lockset_phase(keeper->try.locks) == LOCK_LOST)
        return RUN_ZNODE_GONE;
    if (keeper->news.guard_dead)
        return RUN_GUARD_DEAD;
    if (job->end == JOB_LEASE_OVER)
        return RUN_LEASE_OVER;
    if (clock_now() >= guard_due(keeper))
        return run->sent_end > job->guarded_until ? RUN_GUARD_MUTE : RUN_LEASE_OVER;
    if (clock_now() >= keeper_limit_late(keeper))
        return RUN_LIMIT_OVER;
    if (keeper->news.abandoned && !keeper->hold)
        return RUN_ABANDONED;
    return RUN_NO_TROUBLE;
}

static bool is_loss(enum run_reason reason)
{
    return reason == RUN_LEASE_OVER || reason == RUN_ZNODE_GONE;
}

/* Returns whether the end that has begun may take any time: then the loss is told at once. */
static bool may_last(const struct keeper *keeper)
{
    return keeper->options->on_lost == LEASE_TERM && keeper->job.state != JOB_ORDERED &&
           keeper->job.state != JOB_REFUSED;
}

static void begin_end(struct keeper *keeper, enum run_reason reason)
{
    bool goes_on = is_loss(reason) && keeper->options->on_lost == LEASE_WARN &&
                   keeper->job.state != JOB_REFUSED;

    keeper->run.reason = reason;
    keeper->run.troubled_at = clock_now();
    keeper_set_run(keeper, goes_on ? RUN_LOST : RUN_ENDING);
    keeper_begin_end(keeper);
    if (goes_on || (is_loss(reason) && may_last(keeper)))
        keeper_say_lost(keeper, reason == RUN_ZNODE_GONE);
}

static void look_for_trouble(struct keeper *keeper)
{
    enum run_reason reason = find_trouble(keeper);

    if (reason != keeper->run.reason)
        begin_end(keeper, reason);
}

/* Returns whether an end is for others too: for users of the lock, or for what the command started.
 */
static bool rest_counts(const struct keeper *keeper)
{
    return keeper->users.guarded || keeper->options->tree;
}

/* Returns whether the guard has begun to end the command. */
static bool guard_ends_it(const struct keeper *keeper)
{
    return keeper->job.end == JOB_LIMIT_OVER || keeper->job.end == JOB_ORPHANED ||
           (keeper->job.end == JOB_LEASE_OVER && keeper->options->on_lost != LEASE_WARN);
}

/* ---- what is said of it ---- */

/* Always reports an end that came too late: a keeper and a guard that were frozen could not act. */
static void say_when_empty(const struct keeper *keeper)
{
    char span[CLOCK_FORMAT_SIZE];
    int64_t left = keeper_lease_end(keeper) - keeper->job.empty_at;
    bool started =
        keeper->hold || (keeper->job.state != JOB_REFUSED && keeper->job.state != JOB_ORDERED);

    if (!started || !keeper->try.locks)
        return;
    if (left < 0)
        log_error("nothing of %s is left, but only %s after the lease ended: it may have run at "
                  "the same time as the next holder of %s",
                  keeper->command->argv[0], clock_format(-left, span), keeper->options->lock);
    else
        log_info("nothing of %s is left, %s before the lease ended", keeper->command->argv[0],
                 clock_format(left, span));
}

static int command_status(const struct keeper *keeper)
{
    int status = keeper->job.wait_status;

    if (WIFSIGNALED(status)) {
        log_info("%s was ended by signal %d (%s)", keeper->command->argv[0], WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
        return EXITCODE_SIGNAL + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}

/*
 * The loss may have been told before, and the guard have refused to start the command after that,
 * or have killed it under --on-lost term.
 */
static void say_final_loss(struct keeper *keeper, bool gone)
{
    if (keeper->tenure.state == TENURE_HELD)
        keeper_say_lost(keeper, gone);
    else if (keeper->job.state == JOB_REFUSED)
        log_error("%s was not started after all", keeper->command->argv[0]);
    else if (keeper->job.means == JOB_BY_SIGNAL_AND_KILL)
        log_error("%s was killed", keeper->command->argv[0]);
    keeper->run.lost = true;
}

/* Tells of a lock that was lost while the command was being ended for another reason. */
static void tell_loss_meanwhile(struct keeper *keeper)
{
    if (keeper->run.state == RUN_ENDING && !is_loss(keeper->run.reason) &&
        keeper->tenure.state == TENURE_HELD && keeper->try.locks &&
        lockset_phase(keeper->try.locks) == LOCK_LOST)
        say_final_loss(keeper, true);
}

/* Sets the status to exit with. */
static void conclude(struct keeper *keeper)
{
    const struct keeper_run *run = &keeper->run;
    const struct keeper_job *job = &keeper->job;
    const char *name = keeper->command->argv[0];
    char *who;

    if (job->state == JOB_FAILED) {
        keeper_stop(keeper, (int)command_not_executed(keeper->command, job->exec_error));
        return;
    }
    if (keeper->hold && job->state == JOB_EXITED && !keeper->users.caller_told) {
        if (keeper->news.abandoned)
            keeper_front_died(keeper);
        else
            keeper_caller_ended(keeper);
        return;
    }
    if (job->state == JOB_EXITED && !(run->state == RUN_ENDING && rest_counts(keeper))) {
        if (run->reason == RUN_GUARD_DEAD || run->reason == RUN_GUARD_MUTE)
            log_warning("the guard process %s; %s had ended by itself before",
                        run->reason == RUN_GUARD_DEAD ? "was killed" : "does not answer", name);
        keeper_stop(keeper, command_status(keeper)); /* in time, or under --on-lost warn */
        return;
    }
    switch (run->reason) {
    case RUN_NO_TROUBLE:
        break;
    case RUN_LEASE_OVER:
    case RUN_ZNODE_GONE:
        say_final_loss(keeper, run->reason == RUN_ZNODE_GONE);
        keeper_stop(keeper, EXITCODE_LOST);
        break;
    case RUN_GUARD_DEAD:
        keeper_guard_failed(keeper, "was killed");
        break;
    case RUN_GUARD_MUTE:
        keeper_guard_failed(keeper, "does not answer");
        break;
    case RUN_LIMIT_OVER:
        keeper_ended_by_limit(keeper);
        break;
    case RUN_ABANDONED:
        keeper_front_died(keeper);
        break;
    case RUN_ORPHANED:
        who = keeper_who_ran(keeper);
        log_error("the zkflock around this one, whose lock it used, was killed, so %s %s", who,
                  job->state != JOB_REFUSED       ? "was killed"
                  : keeper_starts_nothing(keeper) ? "does not get the lock"
                                                  : "was not started");
        free(who);
        keeper_stop(keeper, EXITCODE_LOST);
        break;
    }
    if (job->means != JOB_BY_SIGNAL)
        front_restore_terminal(keeper->front);
    tell_loss_meanwhile(keeper);
    say_when_empty(keeper);
}

/* ---- the loop ---- */

/* Returns whether what the command left behind still counts, or still uses its lock. */
static bool lingers_on(struct keeper *keeper)
{
    size_t users;

    if (keeper->users.reentry)
        keeper_serve_reentry(keeper);
    users = keeper_users(keeper);
    if (users == 0 && (keeper->job.rest != JOB_REST_UNKNOWN || !keeper->options->tree))
        return false;
    if (keeper->run.state == RUN_LINGERING)
        return true;
    if (users > 0)
        log_info("%s %s, but %zu zkflock inside it still use %s", keeper->command->argv[0],
                 keeper->users.caller_left ? "does without the lock" : "has ended", users,
                 keeper->options->lock);
    else
        log_info("%s has ended, but something that it started still runs",
                 keeper->command->argv[0]);
    keeper_set_run(keeper, RUN_LINGERING);
    return true;
}

/*
 * Returns whether the command has ended by itself, or never began, and nothing that counts beside
 * it is left.  Once the guard or the keeper has begun an end, it is for all that counts, and
 * keeper_nothing_left() says when it is complete.
 */
static bool is_over(struct keeper *keeper)
{
    if (keeper->job.state == JOB_FAILED)
        return true;
    if (keeper->job.state != JOB_EXITED)
        return false;
    if (keeper->run.state == RUN_LINGERING ||
        (keeper->run.state == RUN_RUNNING && rest_counts(keeper) && guard_ends_it(keeper)))
        look_for_trouble(keeper);
    if (has_lock(keeper))
        return !lingers_on(keeper);
    if (keeper->run.state == RUN_LOST)
        return !(rest_counts(keeper) && keeper->job.end == JOB_LIMIT_OVER);
    return !rest_counts(keeper);
}

static int64_t next_due(const struct keeper *keeper)
{
    int64_t due = clock_earlier(clock_earlier(keeper->run.next_proof, keeper->run.news_at),
                                keeper_limit_due(keeper));

    if (has_lock(keeper))
        return clock_earlier(due, clock_earlier(guard_due(keeper), keeper_limit_late(keeper)));
    return clock_earlier(due, keeper_end_due(keeper));
}

static void start(struct keeper *keeper)
{
    struct keeper_run *run = &keeper->run;

    run->sent_end = keeper_lease_end(keeper);
    run->next_proof = keeper_next_proof(keeper);
    run->news_at = CLOCK_NEVER;
    keeper_offer(keeper);
    keeper_set_run(keeper, RUN_RUNNING);
    if (keeper->try.locks)
        hook_tell_acquired(keeper->hook, keeper_node(keeper), keeper_token(keeper));
    front_before_command(keeper->front);
    keeper_job_order(keeper, run->sent_end);
}

/* Returns whether the command runs, or the guard watches the caller in its place. */
static bool is_started(const struct keeper *keeper)
{
    return keeper->job.state == JOB_STARTED || keeper->job.state == JOB_EXITED;
}

void keeper_run(struct keeper *keeper)
{
    keeper_hear_front(keeper);
    if (keeper_cut_short(keeper) || !keeper_share_entries(keeper))
        return;
    start(keeper);
    while (!is_over(keeper)) {
        keeper_watch_limit(keeper);
        if (keeper->run.state != RUN_ENDING)
            look_for_trouble(keeper);
        if (keeper->run.state == RUN_ENDING)
            keeper_go_on_ending(keeper);
        /* Not before that: the guard may report the end of the lease and this at once. */
        if (!has_lock(keeper) && keeper_nothing_left(keeper))
            break;
        if (keeper->hold && keeper->news.abandoned)
            keeper_release(keeper); /* nobody is left to tell the caller that it has the lock */
        else if (is_started(keeper))
            keeper_announce(keeper);
        prove(keeper);
        keeper_pump(keeper, next_due(keeper));
    }
    conclude(keeper);
}
