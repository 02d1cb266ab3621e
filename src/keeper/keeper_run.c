/*
 * The command under the lock.
 *
 *   RUNNING -> over      the command ended by itself, or could not be executed
 *           -> lingering the command ended, but zkflocks inside it still use its lock, or under
 *                        --tree something that it started still runs               [lingers_on]
 *           -> ENDING    the lock is lost, or one of the processes that make up zkflock, or the
 *                        command's time is up                              [begin_end]
 *   ENDING  -> ENDING    under --on-lost warn, where a loss ends nothing: the command's time is up,
 *                        or the guard is dead                              [look_for_trouble]
 *   ENDING  -> over      nothing of the command's tree is left; or it ended by itself meanwhile
 *
 * The guard ends the tree.  If it is dead, or does not do so in time, this process does: the
 * guard's descendants are then its own.  Proofs of life go on all the time, also in ENDING: while
 * there is contact, nobody else gets the lock before the tree is empty.  Once begun, an end is
 * final; a late answer changes nothing.
 */
#include "keeper/keeper_state.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "process/tree.h"

/* Why the command is being ended; RUNNING: it is not.  Up to ZNODE_GONE the lock is lost. */
enum reason {
    RUNNING,
    LEASE_OVER,
    ZNODE_GONE,
    GUARD_DEAD,
    GUARD_MUTE,
    LIMIT_OVER,
    ABANDONED,
};

struct run {
    struct keeper *keeper;
    int64_t sent_end; /* the end of the lease as told to the guard */
    int64_t sent_at;  /* when one was told that it may not have confirmed yet */
    int64_t next_proof;
    int64_t overdue_at; /* when it was seen that the grace after that is over; 0: it is not */
    int64_t news_at;    /* when a proof that is not answered is told of */
    enum reason reason;
    bool lingering; /* others use the lock after the command has ended */
    bool by_keeper; /* this process ends the tree */
    int64_t next_kill;
    unsigned int kill_round;
    bool told_survivor;
};

/* ---- proofs ---- */

static void prove(struct run *run)
{
    struct keeper *keeper = run->keeper;
    int64_t now = clock_now();

    if (!keeper->locks)
        return;
    if (now >= run->next_proof) {
        keeper_note_delay(keeper, run->next_proof);
        lockset_prove(keeper->locks);
        run->next_proof = now + keeper->lease.interval;
    }
    if (run->reason == RUNNING && keeper_lease_end(keeper) > run->sent_end) {
        if (run->sent_end <= keeper->guarded_until)
            run->sent_at = now;
        run->sent_end = keeper_lease_end(keeper);
        guard_extend(&keeper->guard, run->sent_end);
    }
    run->news_at = run->reason == RUNNING ? keeper_tell_of_proofs(keeper) : CLOCK_NEVER;
}

/* ---- ending the command ---- */

/* By then the guard must have spoken: half-way between its first signal and KILL. */
static int64_t guard_due(const struct keeper *keeper)
{
    return lease_guard_due(&keeper->lease, keeper->guarded_until);
}

/* When the command's time is up. */
static int64_t limit_at(const struct keeper *keeper)
{
    return clock_earlier(clock_add(keeper->go_at, keeper->options->max_runtime), keeper->late_at);
}

/* When the grace after that ends. */
static int64_t limit_grace_end(const struct keeper *keeper)
{
    return clock_add(keeper->limit_over ? keeper->limit_over_at : limit_at(keeper),
                     keeper->lease.grace);
}

static void watch_limit(struct run *run)
{
    int64_t now = clock_now();

    if (now < limit_grace_end(run->keeper))
        run->overdue_at = 0;
    else if (!run->overdue_at)
        run->overdue_at = now;
}

/*
 * By then nothing may be left of it: had the guard stopped, it is told.  Counted from when this
 * process saw it: where both stood still, the guard too needs a moment.
 */
static int64_t limit_late(const struct run *run)
{
    return run->overdue_at ? run->overdue_at + run->keeper->lease.margin / 2 : CLOCK_NEVER;
}

static enum reason trouble(const struct run *run)
{
    const struct keeper *keeper = run->keeper;

    if (keeper->limit_over)
        return LIMIT_OVER;
    if (run->reason != RUNNING && keeper->guard_dead)
        return GUARD_DEAD;
    if (run->reason != RUNNING) /* it goes on without its lock */
        return clock_now() >= limit_late(run) ? LIMIT_OVER : run->reason;
    if (keeper->locks && lockset_phase(keeper->locks) == LOCK_LOST)
        return ZNODE_GONE;
    if (keeper->guard_dead)
        return GUARD_DEAD;
    if (keeper->lease_over)
        return LEASE_OVER;
    if (clock_now() >= guard_due(keeper))
        return run->sent_end > keeper->guarded_until ? GUARD_MUTE : LEASE_OVER;
    if (clock_now() >= limit_late(run))
        return LIMIT_OVER;
    if (keeper->abandoned && !keeper->hold)
        return ABANDONED;
    return RUNNING;
}

static void take_over(struct run *run)
{
    struct keeper *keeper = run->keeper;

    run->by_keeper = true;
    run->next_kill = 0;
    if (!keeper->guard_dead)
        kill(keeper->guard.pid, SIGKILL);
    keeper->guard_dead = true;
}

/* Under --on-lost warn a loss ends nothing. */
static bool ends_tree(const struct run *run)
{
    return run->reason > ZNODE_GONE || run->keeper->options->on_lost != LEASE_WARN;
}

static void begin_end(struct run *run)
{
    struct keeper *keeper = run->keeper;

    keeper->lost_at = clock_now();
    if (!ends_tree(run))
        run->lingering = false; /* what is left has no lock to wait with */
    else if (keeper->reentry)
        reentry_close(keeper->reentry);
    keeper_note_delay(keeper, run->next_proof);
    if (run->sent_end > keeper->guarded_until)
        keeper_note_delay(keeper, run->sent_at);
    if (run->reason == GUARD_DEAD || run->reason == GUARD_MUTE)
        take_over(run);
    else if (!keeper->lease_over || run->reason == ABANDONED)
        guard_kill(&keeper->guard, run->reason == ABANDONED);
}

/* When a guard that is to end the tree is late. */
static int64_t guard_late(const struct run *run)
{
    const struct keeper *keeper = run->keeper;

    if (run->reason == LIMIT_OVER || keeper->options->on_lost != LEASE_KILL)
        return limit_late(run);
    return lease_guard_late(&keeper->lease, keeper->guarded_until);
}

/* Had there been no proof since the end was begun. */
static int64_t lease_would_end(const struct keeper *keeper)
{
    return clock_earlier(keeper_lease_end(keeper),
                         lease_end(keeper->lease.length, keeper->lost_at));
}

/*
 * Whether nothing but the guard failed, which had not begun to end the command, and nothing was
 * left of it while the lock was held for sure.
 */
static bool ended_for_guard(const struct run *run)
{
    const struct keeper *keeper = run->keeper;

    return (run->reason == GUARD_DEAD || run->reason == GUARD_MUTE || run->reason == LIMIT_OVER) &&
           !keeper->lease_over && !keeper->limit_over &&
           keeper->empty_at < keeper_lease_end(keeper);
}

/* How the command ended by itself before that, which the guard has not told. */
static void take_exit(struct run *run)
{
    struct keeper *keeper = run->keeper;
    int status = keeper->child.wait_status;

    if (!ended_for_guard(run) || keeper->exited || !keeper->child.reaped ||
        (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
        return;
    keeper->exited = true;
    keeper->wait_status = status;
    run->lingering = keeper->guard_keeps || keeper->options->tree;
}

static void go_on_ending(struct run *run)
{
    struct keeper *keeper = run->keeper;
    int64_t now = clock_now();
    pid_t no_child = 0;

    if (keeper->tree_empty)
        return;
    if (!run->by_keeper && (keeper->guard_dead || now >= guard_late(run)))
        take_over(run);
    if (!run->by_keeper || now < run->next_kill)
        return;
    run->next_kill = now + tree_kill_pause(&run->kill_round);
    keeper->kill_needed = true;
    /* The guard, and the hook runner, are members of the tree. */
    keeper->tree_empty = tree_kill(&no_child, &keeper->child);
    keeper->empty_at = clock_now();
    if (keeper->tree_empty)
        take_exit(run);
    if (!keeper->tree_empty && !run->told_survivor && now >= lease_would_end(keeper))
        run->told_survivor = keeper_say_survivor(keeper, now >= keeper_lease_end(keeper));
}

/* ---- what is said of it ---- */

/* Never denied: whoever was frozen together with all that watched over it comes too late. */
static void say_when_empty(const struct keeper *keeper)
{
    char span[CLOCK_FORMAT_SIZE];
    int64_t left = keeper_lease_end(keeper) - keeper->empty_at;

    if (keeper->refused || !keeper->locks)
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
    int status = keeper->wait_status;

    if (WIFSIGNALED(status)) {
        log_info("%s was ended by signal %d (%s)", keeper->command->argv[0], WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
        return EXITCODE_SIGNAL + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}

/* It was taken away while the command was being ended for another reason. */
static void tell_loss_meanwhile(const struct run *run)
{
    struct keeper *keeper = run->keeper;
    bool told = run->reason == LEASE_OVER || run->reason == ZNODE_GONE;

    if (run->reason != RUNNING && !told && !keeper->ended_at && keeper->locks &&
        lockset_phase(keeper->locks) == LOCK_LOST) {
        keeper_say_lost(keeper, true);
        keeper->lost = true;
    }
}

/* A guard that was stopped may not have started it, or not have told how it ended by itself. */
static void end_by_limit(const struct run *run)
{
    struct keeper *keeper = run->keeper;
    bool late = limit_at(keeper) == keeper->late_at;

    keeper->refused |= keeper->child.pid == 0;
    keeper->limit_over = true;
    keeper_say_limit(keeper, late);
    if (!keeper->refused)
        keeper->status = EXITCODE_TIMEOUT;
    else
        keeper->status = late ? keeper->options->conflict_status : EXITCODE_INTERNAL;
}

/* Sets the status to exit with. */
static void conclude(const struct run *run)
{
    struct keeper *keeper = run->keeper;

    if (keeper->exec_error) {
        log_error("cannot execute %s: %s", keeper->command->argv[0], strerror(keeper->exec_error));
        keeper->status = (int)command_exec_failure(keeper->exec_error);
        return;
    }
    if (keeper->exited && !(run->lingering && run->reason != RUNNING)) {
        if (run->reason == GUARD_DEAD || run->reason == GUARD_MUTE)
            log_warning("the guard process %s; %s had ended by itself before",
                        run->reason == GUARD_DEAD ? "was killed" : "does not answer",
                        keeper->command->argv[0]);
        keeper->status = command_status(keeper); /* in time, or under --on-lost warn */
        return;
    }
    switch (run->reason) {
    case RUNNING:
        break;
    case LEASE_OVER:
    case ZNODE_GONE:
        keeper_say_lost(keeper, run->reason == ZNODE_GONE);
        keeper->lost = true;
        keeper->status = EXITCODE_LOST;
        break;
    case GUARD_DEAD:
        keeper_guard_died(keeper);
        break;
    case GUARD_MUTE:
        log_error("the guard process does not answer, so the command was ended");
        keeper->status = EXITCODE_INTERNAL;
        break;
    case LIMIT_OVER:
        end_by_limit(run);
        break;
    case ABANDONED:
        keeper_front_died(keeper);
        break;
    }
    tell_loss_meanwhile(run);
    say_when_empty(keeper);
}

/* ---- the loop ---- */

static void look_for_trouble(struct run *run)
{
    enum reason before = run->reason;

    run->reason = trouble(run);
    if (run->reason == before)
        return;
    begin_end(run);
    if (!ends_tree(run))
        keeper_say_lost(run->keeper, run->reason == ZNODE_GONE);
}

static size_t users_of(const struct keeper *keeper)
{
    return keeper->reentry ? reentry_users(keeper->reentry) : 0;
}

/* The command has ended, but what it left behind still counts, or still uses its lock. */
static bool lingers_on(struct run *run)
{
    struct keeper *keeper = run->keeper;
    size_t users;

    if (keeper->reentry)
        keeper_serve_reentry(keeper);
    users = users_of(keeper);
    if (users == 0 && (keeper->childless || !keeper->options->tree))
        return false;
    if (!run->lingering && users > 0)
        log_info("%s %s, but %zu zkflock inside it still use %s", keeper->command->argv[0],
                 keeper->released ? "does without the lock" : "has ended", users,
                 keeper->options->lock);
    else if (!run->lingering)
        log_info("%s has ended, but something that it started still runs",
                 keeper->command->argv[0]);
    run->lingering = true;
    return true;
}

/* The command ended, or never began, before it was told to; nobody uses the lock any more. */
static bool command_over(struct run *run)
{
    const struct keeper *keeper = run->keeper;

    if (keeper->exec_error)
        return true;
    if (!keeper->exited)
        return false;
    /*
     * Beside the command others count, and an end that one of both processes has begun meanwhile
     * is for them too: it is over when the guard says that nothing is left.
     */
    if ((keeper->limit_over ||
         ((keeper->lease_over || run->reason != RUNNING) && ends_tree(run))) &&
        (keeper->guard_keeps || keeper->options->tree))
        run->lingering = true;
    if (run->lingering && run->reason == RUNNING)
        look_for_trouble(run);
    return run->reason == RUNNING ? !lingers_on(run) : !run->lingering;
}

/* The guard may have told of the latter when it had not yet heard of an end. */
static bool nothing_left(const struct keeper *keeper)
{
    return keeper->tree_empty || (keeper->exited && keeper->childless && users_of(keeper) == 0);
}

static int64_t next_due(const struct run *run)
{
    const struct keeper *keeper = run->keeper;
    int64_t due = clock_earlier(run->next_proof, run->news_at);

    if (!run->overdue_at)
        due = clock_earlier(due, limit_grace_end(keeper));
    if (run->reason == RUNNING)
        return clock_earlier(due, clock_earlier(guard_due(keeper), limit_late(run)));
    return clock_earlier(due, run->by_keeper ? run->next_kill : guard_late(run));
}

static void start(struct run *run)
{
    struct keeper *keeper = run->keeper;

    run->sent_end = keeper->guarded_until = keeper_lease_end(keeper);
    run->next_proof = run->news_at = CLOCK_NEVER;
    if (keeper->locks)
        run->next_proof = lease_next_proof(&keeper->lease, lockset_proven_at(keeper->locks));
    else
        keeper->lease = lease_plan(LEASE_DEFAULT, keeper->options->kill_after);
    keeper_offer(keeper);
    keeper->running = true;
    if (keeper->locks)
        hook_tell_acquired(keeper->hook, keeper_node(keeper), keeper_token(keeper));
    keeper_share_entries(keeper);
    front_before_command(keeper->front);
    keeper->go_at = clock_now();
    guard_go(&keeper->guard,
             &(struct guard_message){.lease_end = run->sent_end,
                                     .lease = keeper->lease,
                                     .late_at = keeper->late_at,
                                     .max_runtime = keeper->options->max_runtime,
                                     .token = keeper_token(keeper)},
             keeper_node(keeper), keeper->reentry ? reentry_name(keeper->reentry) : "");
}

void keeper_run(struct keeper *keeper)
{
    struct run run = {.keeper = keeper};

    keeper_hear_front(keeper);
    if (keeper_cut_short(keeper))
        return;
    start(&run);
    while (!command_over(&run)) {
        watch_limit(&run);
        if (run.reason == RUNNING || !ends_tree(&run))
            look_for_trouble(&run);
        if (run.reason != RUNNING)
            go_on_ending(&run);
        /* Only now: the guard may have told of the lease's end and of this in one breath. */
        if (run.reason != RUNNING && nothing_left(keeper))
            break;
        if (keeper->hold && keeper->abandoned)
            keeper_release(keeper); /* nobody is left to tell the caller that it has the lock */
        else if (keeper->started)
            keeper_announce(keeper);
        prove(&run);
        keeper_pump(keeper, next_due(&run));
    }
    conclude(&run);
}
