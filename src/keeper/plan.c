#include "keeper/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "lock/recipe.h"

/*
 * By the locks' own paths, which all processes order alike; of a semaphore, whose two items stand
 * below its path, the turn comes before the permit.
 */
static int by_lock(const void *a, const void *b)
{
    const struct lockset_item *x = a;
    const struct lockset_item *y = b;
    int order = strcmp(x->lock, y->lock);

    return order ? order : (int)y->until_next - (int)x->until_next;
}

/* Two items: the lock under which one at a time takes a permit, and the permit. */
static size_t add_semaphore(struct lockset_item *items, const struct options *options,
                            const struct lock_terms *terms)
{
    items[0] = (struct lockset_item){
        .path = xasprintf("%s/%s", options->lock, RECIPE_SEMAPHORE_LOCKS),
        .lock = options->lock,
        .terms = *terms,
        .until_next = true,
    };
    items[0].terms.naming = (struct naming){0}; /* semaphores are Curator's, whatever a file says */
    /*
     * It guards the counting of permits alone.  A holder that vanishes with it vanishes with its
     * permit too, in one session, and the next one waits for that.
     */
    items[0].terms.delay = 0;
    items[0].terms.turn = true;
    items[0].terms.above = LOCK_ABOVE_NO_LOCK;
    items[1] = (struct lockset_item){
        .path = xasprintf("%s/%s", options->lock, RECIPE_SEMAPHORE_LEASES),
        .lock = options->lock,
        .terms = *terms,
        .main = true,
    };
    items[1].terms.naming = items[0].terms.naming;
    items[1].terms.kind = NAMING_PERMIT;
    items[1].terms.permits = options->permits;
    items[1].terms.above = LOCK_ABOVE_NO_LOCK;
    return 2;
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
        len += add_semaphore(items + len, options, &terms);
    } else {
        add_lock(&items[len], options->lock, options->kind, &terms);
        items[len++].main = true;
    }
    qsort(items, len, sizeof(items[0]), by_lock);
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
