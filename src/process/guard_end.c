/*
 * The guard ends the command's tree.
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/guard_state.h"
#include "process/tree.h"

/* How often to look whether processes that are no children have ended: no signal tells of them. */
#define LOOK_AGAIN (500 * CLOCK_MS)

bool guard_tree_has_ended(const struct guard_state *guard)
{
    siginfo_t child;

    if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD)
        return false;
    /* In LINGERING the lock is not lost, and the keeper knows who else uses it. */
    return guard->state == LINGERING || tree_outsiders_gone();
}

static void is_childless(struct guard_state *guard)
{
    guard->pid = 0;
    if (!guard->used) {
        guard->state = EXITED;
        guard_set_timer(guard, CLOCK_NEVER);
    }
    guard_tell(guard, GUARD_CHILDLESS, 0);
}

void guard_tree_is_empty(struct guard_state *guard)
{
    if (guard->state == LINGERING) {
        is_childless(guard);
        return;
    }
    guard->pid = 0;
    guard->state = ENDED;
    guard_set_timer(guard, CLOCK_NEVER);
    guard_tell(guard, GUARD_EMPTY, guard->kill_round > 0);
    if (guard->link < 0)
        guard_settle(guard);
}

void guard_kill_tree(struct guard_state *guard)
{
    int64_t pause = tree_kill_pause(&guard->kill_round);

    guard->state = KILLING;
    if (tree_kill(&guard->pid, NULL)) {
        guard_tree_is_empty(guard);
        return;
    }
    guard_set_timer(guard, clock_now() + pause);
    /* A keeper that lives says it. */
    if (guard->link < 0 && !guard->told_survivor && clock_now() >= guard->lease_end)
        guard->told_survivor =
            tree_say_survivor(guard->mandate->command->argv[0], guard->mandate->lock_path, true);
}

/* SIGCHLD tells of the end of children; of others the guard has to find out. */
static int64_t next_look(const struct guard_state *guard)
{
    return guard->mandate->caller || guard->used ? clock_now() + LOOK_AGAIN : CLOCK_NEVER;
}

/* Sets the timer: LEASE_KILL for when KILL is due, else for when the command's time is up. */
static void watch_end(const struct guard_state *guard)
{
    int64_t due = guard->how == LEASE_KILL ? guard->kill_at : guard->limit_at;

    guard_set_timer(guard, guard->state == LOST ? due : clock_earlier(next_look(guard), due));
}

void guard_end_tree(struct guard_state *guard, enum lease_on_lost how)
{
    guard->kill_at = clock_now() + guard->lease.grace;
    if (guard_is_guarding(guard)) /* else the grace need not fit into a lease */
        guard->kill_at =
            clock_earlier(guard->kill_at, lease_kill_time(&guard->lease, guard->lease_end));
    guard->how = how;
    guard->state = how == LEASE_WARN ? LOST : ENDING;
    watch_end(guard);
    if (how == LEASE_WARN)
        return;
    tree_signal(guard->mandate->signal, guard->pid);
    tree_signal(SIGCONT, guard->pid); /* a stopped process would not act on the signal */
    guard_tell(guard, GUARD_SIGNALLED, 0);
}

void guard_lease_over(struct guard_state *guard)
{
    guard_tell(guard, GUARD_LEASE_OVER, 0);
    guard_end_tree(guard, guard->mandate->on_lost);
}

/* Returns whether the lock is lost, but the command may go on until its time is up. */
static bool is_spared(const struct guard_state *guard)
{
    return guard->state == LOST || (guard->state == ENDING && guard->how == LEASE_TERM);
}

void guard_timer_due(struct guard_state *guard)
{
    uint64_t count;

    if (read(guard->timer_fd, &count, sizeof(count)) < 0)
        return;
    if (guard_is_guarding(guard) && clock_now() >= guard_first_signal_time(guard)) {
        guard_lease_over(guard);
    } else if ((guard_is_guarding(guard) || is_spared(guard)) && clock_now() >= guard->limit_at) {
        guard_tell(guard, GUARD_LIMIT_OVER, 0);
        guard_end_tree(guard, LEASE_KILL);
    } else if (guard->state == ENDING && guard_tree_has_ended(guard)) {
        guard_tree_is_empty(guard);
    } else if (guard->state == ENDING &&
               (guard->how == LEASE_TERM || clock_now() < guard->kill_at)) {
        watch_end(guard);
    } else if (guard->state == ENDING || guard->state == KILLING) {
        guard_kill_tree(guard);
    }
}
