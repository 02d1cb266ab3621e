/*
 * Shows a person how the wait goes: by a status line at a terminal; elsewhere, under -v, by a line
 * at the start and at each change.
 */
#include "keeper/keeper_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "keeper/status_line.h"
#include "base/xalloc.h"
#include "lock/recipe.h"

/* A shorter wait is not shown. */
#define QUIET (300 * CLOCK_MS)

/* The time from one look at the queue to the next, longer for each contender ahead. */
#define LOOK_AGAIN (5 * CLOCK_S)
#define LOOK_AGAIN_EACH (50 * CLOCK_MS)

/* The same when the wait is over, and the queue is about to move. */
#define LOOK_AGAIN_LAST CLOCK_S

/* Returns whether anybody reads lines at the level of info. */
static bool tells_lines(const struct keeper *keeper)
{
    return log_get_level() >= LOG_LEVEL_INFO || keeper->options->log_syslog;
}

static bool at_terminal(const struct keeper *keeper)
{
    return log_get_level() >= LOG_LEVEL_WARNING && keeper->options->log_format == LOG_FORMAT_TEXT &&
           status_line_wanted(keeper->command->inherited.process_group, keeper->hold != NULL);
}

/* Returns a line about the wait, to be freed. */
static char *wait_line(const struct keeper *keeper, const char *text)
{
    const struct lockset_item *item = lockset_current_item(keeper->try.locks);

    return xasprintf("waiting for %s%s: %s",
                     item->until_next || item->terms.permits ? "a permit of " : "", item->lock,
                     text);
}

/* ---- the queue ---- */

/* Returns whether it waits for its turn to take a permit; the holders' znodes are elsewhere then.
 */
static bool awaits_turn(const struct keeper *keeper)
{
    return lockset_current_item(keeper->try.locks)->until_next;
}

/* Begins to look at the queue, unless a look is under way. */
static void look(struct keeper *keeper)
{
    const struct lockset_item *item = lockset_current_item(keeper->try.locks);
    const struct lock *lock = lockset_current(keeper->try.locks);
    char *leases = NULL;

    keeper->wait.item = item;
    if (!keeper->wait.outlook)
        keeper->wait.outlook =
            outlook_new(keeper->try.session, lockset_tags(keeper->try.locks) + 1);
    if (awaits_turn(keeper))
        leases = xasprintf("%s/%s", item->lock, RECIPE_SEMAPHORE_LEASES);
    outlook_look(keeper->wait.outlook, leases, (size_t)keeper->options->permits, lock_path(lock),
                 lock_node(lock));
    free(leases);
}

static void look_again(struct keeper *keeper)
{
    struct keeper_wait *wait = &keeper->wait;

    wait->ahead = lock_ahead(lockset_current(keeper->try.locks));
    wait->look_at = clock_now() + LOOK_AGAIN + (int64_t)wait->ahead * LOOK_AGAIN_EACH;
    look(keeper);
}

/*
 * Counts the contenders ahead.  The one whose turn it is may wait for a permit: it then has a znode
 * among the permits too, and is counted there alone.
 */
static size_t ahead(const struct keeper *keeper)
{
    size_t turns = lock_ahead(lockset_current(keeper->try.locks));

    if (!keeper->wait.outlook || !outlook_known(keeper->wait.outlook))
        return turns;
    return outlook_ahead(keeper->wait.outlook) +
           (outlook_is_of_leases(keeper->wait.outlook) && turns ? turns - 1 : 0);
}

/* Returns whether those ahead, if any, only take permits that are left. */
static bool queue_moves(const struct keeper *keeper)
{
    int32_t permits = lockset_current_item(keeper->try.locks)->terms.permits;

    if (awaits_turn(keeper) && !outlook_is_of_leases(keeper->wait.outlook))
        return true;
    return permits ? ahead(keeper) < (size_t)permits : ahead(keeper) == 0;
}

enum keeper_queue keeper_look_at_queue(struct keeper *keeper, int64_t *again)
{
    struct keeper_wait *wait = &keeper->wait;
    bool known = wait->outlook && outlook_known(wait->outlook);
    bool same = wait->item == lockset_current_item(keeper->try.locks);

    *again = CLOCK_NEVER;
    if (known && (clock_now() >= wait->known_until || !same)) {
        outlook_forget(wait->outlook);
        known = false;
    }
    if (!known) {
        wait->known_until = CLOCK_NEVER;
        if (wait->outlook && outlook_refused(wait->outlook))
            return KEEPER_QUEUE_BUSY;
        if (session_connected(keeper->try.session))
            look(keeper);
        return KEEPER_QUEUE_UNKNOWN;
    }
    if (wait->known_until == CLOCK_NEVER)
        wait->known_until = clock_now() + LOOK_AGAIN_LAST;
    *again = wait->known_until;
    return queue_moves(keeper) ? KEEPER_QUEUE_MOVING : KEEPER_QUEUE_BUSY;
}

/* ms */
static int64_t held_for(const struct keeper *keeper)
{
    int64_t now = lock_ensemble_time(lockset_current(keeper->try.locks));
    int64_t since = outlook_held_since(keeper->wait.outlook);

    if (now == 0)
        now = (int64_t)time(NULL) * 1000;
    return now > since ? now - since : 0;
}

static bool knows_holder(const struct keeper *keeper)
{
    return keeper->wait.outlook && outlook_known(keeper->wait.outlook) &&
           *outlook_holder(keeper->wait.outlook);
}

/* Returns whether that one only takes a permit: holders of others stand elsewhere. */
static bool is_next_for_permit(const struct keeper *keeper)
{
    return outlook_room(keeper->wait.outlook) && !outlook_persistent(keeper->wait.outlook);
}

static bool hides_holder(const struct keeper *keeper)
{
    return keeper->wait.outlook && outlook_known(keeper->wait.outlook) &&
           outlook_hidden(keeper->wait.outlook);
}

/* A reader waits for writers alone, also where other readers hold the lock. */
static const char *whose(const struct keeper *keeper)
{
    return lockset_current_item(keeper->try.locks)->terms.kind == NAMING_READER ? " exclusive" : "";
}

static const char *how_held(const struct keeper *keeper)
{
    return outlook_shared(keeper->wait.outlook) ? " shared" : "";
}

static void describe_queue(const struct keeper *keeper, char *text, size_t size)
{
    char span[CLOCK_FORMAT_SIZE];

    if (knows_holder(keeper) && outlook_settles(keeper->wait.outlook))
        snprintf(text, size, "%zu%s ahead, a holder vanished and is waited for by %s",
                 ahead(keeper), whose(keeper), outlook_holder(keeper->wait.outlook));
    else if (knows_holder(keeper) && is_next_for_permit(keeper))
        snprintf(text, size, "%zu ahead, the next permit goes to %s", ahead(keeper),
                 outlook_holder(keeper->wait.outlook));
    else if (knows_holder(keeper))
        snprintf(text, size, "%zu%s ahead, held%s for %s by %s", ahead(keeper), whose(keeper),
                 how_held(keeper), clock_short(held_for(keeper), span),
                 outlook_holder(keeper->wait.outlook));
    else
        snprintf(text, size, "%zu%s ahead", ahead(keeper), whose(keeper));
}

/*
 * Returns what to do if the holder is a znode that no session owns; else nothing; to be freed.
 * --break would take the lock from all that share it; of a semaphore all permits, and leave what
 * stands in the queue for turns.
 */
static char *remedy(const struct keeper *keeper)
{
    const struct lockset_item *item = lockset_current_item(keeper->try.locks);
    const char *znode = knows_holder(keeper) ? outlook_persistent(keeper->wait.outlook) : NULL;

    if (!znode)
        return xstrdup("");
    if (item->until_next || item->terms.permits || outlook_shared(keeper->wait.outlook))
        return xasprintf(": delete %s", znode);
    return xstrdup(": --break frees the lock");
}

char *keeper_describe_queue(const struct keeper *keeper)
{
    char queue[CONTENDER_WHO_SIZE + 128];
    char *advice = remedy(keeper);
    char *text;

    describe_queue(keeper, queue, sizeof(queue));
    text = xasprintf("%s%s", queue, advice);
    free(advice);
    return text;
}

/* ---- the line ---- */

/* "ci@runner7 pid 4711: make deploy" becomes "ci@runner7 (make deploy)". */
static void shorten_holder(const char *holder, char *text, size_t size)
{
    const char *pid = strstr(holder, " pid ");
    const char *command = pid ? strstr(pid, ": ") : NULL;

    if (command)
        snprintf(text, size, "%.*s (%s)", (int)(pid - holder), holder, command + 2);
    else
        snprintf(text, size, "%s", holder);
}

static void describe_briefly(const struct keeper *keeper, char *text, size_t size)
{
    const struct lock *lock = lockset_current(keeper->try.locks);
    char holder[CONTENDER_WHO_SIZE + 8];
    char span[CLOCK_FORMAT_SIZE];

    if (!session_connected(keeper->try.session)) {
        snprintf(
            text, size, "no contact with the ensemble for %s",
            clock_short((clock_now() - session_disconnected_since(keeper->try.session)) / CLOCK_MS,
                        span));
    } else if (lock_phase(lock) == LOCK_SETTLING) {
        snprintf(text, size, "a holder vanished, its command may still run for %s",
                 clock_short((lock_settled_at(lock) - clock_now()) / CLOCK_MS, span));
    } else if (knows_holder(keeper) && !outlook_settles(keeper->wait.outlook) &&
               !is_next_for_permit(keeper)) {
        shorten_holder(outlook_holder(keeper->wait.outlook), holder, sizeof(holder));
        snprintf(text, size, "%zu%s ahead, held%s by %s for %s", ahead(keeper), whose(keeper),
                 how_held(keeper), holder, clock_short(held_for(keeper), span));
    } else {
        describe_queue(keeper, text, size);
    }
}

static void show_status(struct keeper *keeper)
{
    char text[CONTENDER_WHO_SIZE + 128];
    char *line;

    describe_briefly(keeper, text, sizeof(text));
    line = wait_line(keeper, text);
    status_line_show(line);
    free(line);
}

/* Tells the log of an event in the queue, with position and holder as far as they are known. */
static void tell_queue(const struct keeper *keeper, enum log_event event, const char *text)
{
    bool queued = keeper->try.locks && lockset_phase(keeper->try.locks) == LOCK_WAITING;
    bool known = knows_holder(keeper);
    const struct log_field fields[] = {
        {"path", LOG_TEXT,
         .text = queued ? lockset_current_item(keeper->try.locks)->lock : keeper->options->lock},
        {"position", queued ? LOG_NUMBER : LOG_END,
         .number = queued ? (int64_t)ahead(keeper) + 1 : 0},
        {"holder", known ? LOG_TEXT : LOG_END,
         .text = known ? outlook_holder(keeper->wait.outlook) : NULL},
        {"holder_held_s", LOG_SPAN, .number = known ? held_for(keeper) * CLOCK_MS : 0},
        {0}};

    log_event(event, fields, "%s", text);
}

/* Tells the log how the wait goes, if the holder is known and something has changed. */
static void tell_change(struct keeper *keeper)
{
    const struct lock *current = lockset_current(keeper->try.locks);
    char change[sizeof(keeper->wait.told)];
    char *text;
    char *line;

    if (lock_phase(current) != LOCK_WAITING || !(knows_holder(keeper) || hides_holder(keeper)))
        return;
    snprintf(change, sizeof(change), "%" PRId64 " %zu %d %s", lock_token(current), ahead(keeper),
             outlook_settles(keeper->wait.outlook), outlook_holder(keeper->wait.outlook));
    if (strcmp(change, keeper->wait.told) == 0)
        return;
    memcpy(keeper->wait.told, change, strlen(change) + 1);
    text = keeper_describe_queue(keeper);
    line = wait_line(keeper, text);
    tell_queue(keeper, LOG_QUEUED, line);
    free(line);
    free(text);
}

void keeper_tell_busy(struct keeper *keeper, bool fault, const char *text)
{
    tell_queue(keeper, fault ? LOG_BUSY_FAULT : LOG_BUSY, text);
    hook_tell(keeper->hook, HOOK_BUSY);
}

int64_t keeper_tell_wait(struct keeper *keeper)
{
    struct keeper_wait *wait = &keeper->wait;
    const struct lock *lock = lockset_current(keeper->try.locks);
    bool terminal = at_terminal(keeper);
    int64_t now = clock_now();

    if (!terminal && !tells_lines(keeper))
        return CLOCK_NEVER;
    if (wait->since == 0)
        wait->since = now;
    if (lock_phase(lock) != LOCK_WAITING || !session_connected(keeper->try.session))
        wait->look_at = CLOCK_NEVER;
    else if (wait->look_at == CLOCK_NEVER || now >= wait->look_at ||
             lock_ahead(lock) != wait->ahead ||
             lockset_current_item(keeper->try.locks) != wait->item)
        look_again(keeper);
    if (tells_lines(keeper))
        tell_change(keeper);
    if (!terminal)
        return wait->look_at;
    if (now < wait->since + QUIET)
        return wait->since + QUIET;
    show_status(keeper);
    return clock_earlier(now + CLOCK_S, wait->look_at);
}

void keeper_forget_queue(struct keeper *keeper)
{
    outlook_free(keeper->wait.outlook);
    keeper->wait.outlook = NULL;
}

void keeper_end_wait(struct keeper *keeper)
{
    status_line_clear();
    keeper->wait = (struct keeper_wait){.outlook = keeper->wait.outlook};
}
