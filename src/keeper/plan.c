#include "keeper/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "lock/recipe.h"

/*
 * All processes order alike, so that two sets do not wait for each other.  A semaphore stands where
 * its permits do, as in 0.1.0.
 */
static int by_path(const void *a, const void *b)
{
    const struct lockset_item *x = a;
    const struct lockset_item *y = b;

    return strcmp(x->path, y->path);
}

static void add_permit(struct lockset_item *item, const struct options *options,
                       const struct lock_terms *terms)
{
    *item = (struct lockset_item){
        .path = xasprintf("%s/%s", options->lock, RECIPE_SEMAPHORE_LEASES),
        .lock = options->lock,
        .terms = *terms,
        .main = true,
    };
    item->terms.naming = (struct naming){0}; /* semaphores are Curator's, whatever a file says */
    item->terms.kind = NAMING_PERMIT;
    item->terms.permits = options->permits;
    item->terms.above = LOCK_ABOVE_NO_LOCK;
}

/* Puts the lock under which one at a time takes a permit in front of the permit. */
static void insert_turn(struct lockset_item *items, size_t len, const struct lock_terms *terms)
{
    struct lockset_item *turn = items;

    while (!turn->terms.permits)
        turn++;
    memmove(turn + 1, turn, (size_t)(items + len - turn) * sizeof(items[0]));
    *turn = (struct lockset_item){
        .path = xasprintf("%s/%s", turn[1].lock, RECIPE_SEMAPHORE_LOCKS),
        .lock = turn[1].lock,
        .terms = *terms,
        .until_next = true,
    };
    turn->terms.naming = turn[1].terms.naming;
    /*
     * It guards the counting of permits alone.  A holder that vanishes with it vanishes with its
     * permit too, in one session, and the next one waits for that.
     */
    turn->terms.delay = 0;
    turn->terms.turn = true;
    turn->terms.above = LOCK_ABOVE_NO_LOCK;
}

static void add_lock(struct lockset_item *item, const char *path, enum naming_kind kind,
                     const struct lock_terms *terms)
{
    const char *last = strrchr(path, '/');
    bool is_like_turn = last != path && strcmp(last + 1, RECIPE_SEMAPHORE_LOCKS) == 0;

    *item = (struct lockset_item){.path = xstrdup(path), .lock = path, .terms = *terms};
    item->terms.kind = kind;
    item->terms.above = is_like_turn ? LOCK_ABOVE_NO_SEMAPHORE : LOCK_ABOVE_ANY;
}

struct lockset_item *plan_new(const struct options *options, size_t *count)
{
    const struct lock_terms terms = {
        .lease = options->new_lease,
        .delay = options->lock_delay,
        .naming = options->naming,
        .around = options->reentry ? getenv("ZKFLOCK_NODE") : NULL,
        .waits = options->wait > 0,
    };
    struct lockset_item *items = xcalloc(2 + options->with_len, sizeof(items[0]));
    size_t len = 0;

    for (size_t i = 0; i < options->with_len; i++)
        add_lock(&items[len++], options->with[i].path, options->with[i].kind, &terms);
    if (options->permits) {
        add_permit(&items[len++], options, &terms);
    } else {
        add_lock(&items[len], options->lock, options->kind, &terms);
        items[len++].main = true;
    }
    qsort(items, len, sizeof(items[0]), by_path);
    if (options->permits)
        insert_turn(items, len++, &terms);
    *count = len;
    return items;
}

static bool is_for(const struct lockset_item *item, const char *path)
{
    return strcmp(item->lock, path) == 0;
}

void plan_drop(struct lockset_item *items, size_t *count, const char *path)
{
    size_t kept = 0;

    for (size_t i = 0; i < *count; i++) {
        if (is_for(&items[i], path))
            free(items[i].path);
        else
            items[kept++] = items[i];
    }
    *count = kept;
}

bool plan_has(const struct lockset_item *items, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (is_for(&items[i], path))
            return true;
    return false;
}

void plan_free(struct lockset_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(items[i].path);
    free(items);
}
