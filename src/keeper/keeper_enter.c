/*
 * Locks that zkflocks around this one hold: these are used, and not taken again.
 */
#include "keeper/keeper_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "keeper/plan.h"

/* Lists the locks as a zkflock around this one knows them: a semaphore is one. */
static void list_wanted(struct keeper *keeper)
{
    const struct options *options = keeper->options;
    size_t count = 1 + options->with_len;

    keeper->try.wanted = xcalloc(count, sizeof(keeper->try.wanted[0]));
    keeper->try.entries = xcalloc(count, sizeof(keeper->try.entries[0]));
    for (size_t i = 0; i < count; i++)
        keeper->try.wanted[i] = i ? (struct reentry_lock){.path = options->with[i - 1].path,
                                                          .kind = options->with[i - 1].kind}
                                  : (struct reentry_lock){.path = options->lock,
                                                          .kind = options->kind,
                                                          .permits = options->permits};
}

static void take_entry(struct keeper *keeper, const struct reentry_lock *lock,
                       struct reentry_entry *entry)
{
    log_info("%s is held by the zkflock around this one", lock->path);
    entry->main = lock->path == keeper->options->lock;
    keeper->try.entries[keeper->try.entries_len++] = *entry;
    plan_drop(keeper->try.items, &keeper->try.items_len, lock->path);
}

static bool would_wait_for_itself(struct keeper *keeper, const struct reentry_lock *lock)
{
    log_error("%s is held shared by the zkflock around this one: an exclusive lock inside would "
              "wait for itself; use --shared here or --exclusive there",
              lock->path);
    return keeper_stop(keeper, EXITCODE_USAGE);
}

static bool is_full(struct keeper *keeper, const struct reentry_lock *lock)
{
    log_error("%s is held by the zkflock around this one, which cannot let another one in: all its "
              "places are taken, or it has no descriptor left",
              lock->path);
    return keeper_stop(keeper, EXITCODE_OSERR);
}

static bool is_outside(struct keeper *keeper, const struct reentry_lock *lock)
{
    log_error(
        "%s is held by the zkflock around this one, and %s is around both, or a part of that one: "
        "each could wait for the other; name a process inside with --for PID",
        lock->path, keeper->command->argv[0]);
    return keeper_stop(keeper, EXITCODE_USAGE);
}

/* The zkflock around this one may be stopped; to queue up instead could mean to wait for it. */
static bool is_silent(struct keeper *keeper, const struct reentry_lock *lock)
{
    return keeper_unreachable(
        keeper,
        xasprintf("the zkflock around this one does not answer, and may hold %s", lock->path));
}

/* Refuses --once-per: without a session, nobody can be asked when the last run was. */
static bool cannot_be_asked(struct keeper *keeper)
{
    log_error("--once-per does not go with a lock that the zkflock around this one holds, %s; give "
              "it to that one",
              keeper->options->lock);
    return keeper_stop(keeper, EXITCODE_USAGE);
}

/* Asks for a lock, and hears signals meanwhile; returns whether to go on. */
static bool ask(struct keeper *keeper, const struct reentry_lock *lock, int64_t deadline,
                struct reentry_entry *entry, enum reentry_answer *answer)
{
    int wake_fd = front_caller_fd(keeper->front);

    for (;;) {
        *answer =
            reentry_ask(lock, keeper->options->servers, keeper->hold ? keeper->hold->caller_fd : -1,
                        wake_fd, deadline, entry);
        if (*answer != REENTRY_SILENT || clock_now() >= deadline)
            return true;
        keeper_hear_front(keeper);
        if (keeper_cut_short(keeper))
            return false;
    }
}

bool keeper_enter(struct keeper *keeper, int64_t deadline)
{
    list_wanted(keeper);
    for (size_t i = 0; keeper->options->reentry && i < 1 + keeper->options->with_len; i++) {
        const struct reentry_lock *lock = &keeper->try.wanted[i];
        struct reentry_entry entry = {.fd = -1};
        enum reentry_answer answer;

        if (!ask(keeper, lock, deadline, &entry, &answer))
            return false;
        switch (answer) {
        case REENTRY_UNKNOWN:
        case REENTRY_UNLOCKED:
        case REENTRY_IN_USE:
        case REENTRY_STUCK:
        case REENTRY_TOGETHER:
            break;
        case REENTRY_ENTERED:
            take_entry(keeper, lock, &entry);
            if (keeper->options->once_per && i == 0)
                return cannot_be_asked(keeper);
            break;
        case REENTRY_SHARED:
            return would_wait_for_itself(keeper, lock);
        case REENTRY_FULL:
            return is_full(keeper, lock);
        case REENTRY_OUTSIDE:
            return is_outside(keeper, lock);
        case REENTRY_SILENT:
            return is_silent(keeper, lock);
        }
    }
    return true;
}

bool keeper_share_entries(struct keeper *keeper)
{
    for (size_t i = 0; i < keeper->try.entries_len; i++)
        if (!guard_share(&keeper->guard, keeper->try.entries[i].fd))
            return keeper_stop(keeper,
                               log_failure(EXITCODE_OSERR, "cannot start: %s", strerror(errno)));
    return true;
}

void keeper_leave_entries(struct keeper *keeper)
{
    struct keeper_try *try = &keeper->try;

    keeper_leave_for_caller(keeper); /* whatever it used them for has ended, or never began */
    for (size_t i = 0; i < try->entries_len; i++) {
        close(try->entries[i].fd);
        free(try->entries[i].node);
    }
    free(try->entries);
    free(try->wanted);
    try->entries = NULL;
    try->wanted = NULL;
    try->entries_len = 0;
}
