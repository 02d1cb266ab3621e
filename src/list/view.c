#include "list/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "lock/record.h"

const char *view_name(const struct view_contender *contender)
{
    return strrchr(contender->path, '/') + 1;
}

static bool is_unfair(const struct view_contender *contender)
{
    return strcmp(view_name(contender), RECIPE_UNFAIR_NAME) == 0;
}

static int compare(const void *left, const void *right)
{
    const char *a = view_name(left);
    const char *b = view_name(right);
    int32_t a_sequence = 0;
    int32_t b_sequence = 0;

    recipe_sequence(a, &a_sequence);
    recipe_sequence(b, &b_sequence);
    if (a_sequence != b_sequence)
        return a_sequence < b_sequence ? -1 : 1;
    return strcmp(a, b);
}

/*
 * Moves the unfair contender to the end unless it is the oldest: it holds the lock only if it found
 * no other contender, else it is about to delete its znode.  While it was not read yet, it is
 * younger than those that were.  By its name it need not be the first of those with the number 0.
 */
static void place_unfair(struct view *view)
{
    struct view_contender unfair;
    bool late;
    size_t at = 0;

    while (at < view->len && !is_unfair(&view->contenders[at]))
        at++;
    if (at == view->len)
        return;
    unfair = view->contenders[at];
    late = unfair.pending;
    for (size_t i = 0; i < view->len && unfair.read; i++)
        late |= view->contenders[i].read && view->contenders[i].czxid < unfair.czxid;
    if (!late)
        return;
    memmove(view->contenders + at, view->contenders + at + 1,
            (view->len - 1 - at) * sizeof(view->contenders[0]));
    view->contenders[view->len - 1] = unfair;
}

/*
 * Returns how many contenders hold by their places, even if they first wait for a vanished holder.
 * In a semaphore the first leases contenders have a lease, and permits of these hold one.
 */
static size_t count_first(const struct view *view, bool semaphore, size_t leases, size_t permits)
{
    size_t first = 0;

    if (semaphore)
        return leases < permits ? leases : permits;
    while (first < view->len && recipe_is_shared(view_name(&view->contenders[first])))
        first++;
    return view->len && !first ? 1 : first;
}

/*
 * Returns true for a zkflock that is first and has yet to find out that it must wait for a vanished
 * holder, which it then writes into its znode.  It came after that one vanished, since nothing has
 * come or gone after it.
 */
static bool will_settle(const struct view_contender *contender, int64_t pzxid)
{
    return contender->told.known && !contender->told.held && !contender->told.terms.no_delay &&
           contender->czxid == pzxid;
}

static void find_times(struct view_contender *contender, bool first, bool ready)
{
    const struct contender_terms *terms = &contender->told.terms;

    contender->since_ms = contender->ctime_ms;
    if (first && terms->settling_ms)
        contender->until_ms = contender->mtime_ms + terms->settling_ms;
    contender->holds = first && ready && !contender->until_ms;
    if (contender->holds)
        contender->since_ms =
            contender_held_since(&contender->told, contender->ctime_ms, contender->mtime_ms);
}

static enum contender_kind kind_of(const struct view_contender *contender, bool semaphore)
{
    if (semaphore)
        return CONTENDER_PERMIT;
    if (recipe_is_shared(view_name(contender)))
        return CONTENDER_SHARED; /* whatever its data say: by its name others share with it */
    if (is_unfair(contender) || contender->told.terms.kind == CONTENDER_UNFAIR)
        return CONTENDER_UNFAIR;
    return CONTENDER_EXCLUSIVE;
}

void view_sort_holders(struct view *view)
{
    view->holders = 0;
    for (size_t i = 0; i < view->len; i++) {
        if (view->contenders[i].holds) {
            struct view_contender holder = view->contenders[i];

            memmove(view->contenders + view->holders + 1, view->contenders + view->holders,
                    (i - view->holders) * sizeof(holder));
            view->contenders[view->holders++] = holder;
        }
    }
}

/* settled_at: the pzxid if a contender that came with it must wait for a vanished holder; or 0. */
static void judge(struct view *view, bool semaphore, size_t first, int64_t settled_at)
{
    for (size_t i = 0; i < view->len; i++) {
        view->contenders[i].kind = kind_of(&view->contenders[i], semaphore);
        find_times(&view->contenders[i], i < first, !will_settle(&view->contenders[i], settled_at));
    }
    view_sort_holders(view);
    if (view->holders) {
        view->state = VIEW_HELD;
    } else if (first) {
        view->state = VIEW_SETTLING;
        view->until_ms = view->contenders[0].until_ms;
    }
    view->kind_known = semaphore || view->len;
    view->kind = semaphore ? CONTENDER_PERMIT : CONTENDER_EXCLUSIVE;
    if (!semaphore && view->len)
        view->kind = view->contenders[0].kind;
}

/*
 * Shows a contender once that is taking a permit, with the time at which it came: it is first in
 * the queue and has the newest lease too.  Returns true if there is one.
 */
static bool drop_taker(struct view *view, struct view_source *queue)
{
    struct view_contender *newest = view->len ? &view->contenders[view->len - 1] : NULL;
    struct view_contender *taker = queue->len ? &queue->contenders[0] : NULL;

    if (!newest || !taker || !newest->session || newest->session != taker->session)
        return false;
    newest->ctime_ms = taker->ctime_ms;
    free(taker->path);
    queue->len--;
    memmove(taker, taker + 1, queue->len * sizeof(*taker));
    return true;
}

/* Appends the queue; returns how many leases hold a permit, for a semaphore without a record. */
static size_t take_queue(struct view *view, struct view_source *queue)
{
    size_t holding = view->len;

    if (queue->len)
        qsort(queue->contenders, queue->len, sizeof(queue->contenders[0]), compare);
    holding -= drop_taker(view, queue);
    view->contenders =
        xreallocarray(view->contenders, view->len + queue->len + 1, sizeof(view->contenders[0]));
    if (queue->len)
        memcpy(view->contenders + view->len, queue->contenders,
               queue->len * sizeof(queue->contenders[0]));
    view->len += queue->len;
    free(queue->contenders);
    return holding;
}

void view_make(struct view *view, const char *path, struct view_source *lock,
               struct view_source *queue)
{
    struct record record;
    bool ours = record_decode(lock->data, lock->data_len, &record);
    size_t leases = lock->len;
    size_t permits = 0;
    bool semaphore = queue != NULL;

    *view = (struct view){.path = xstrdup(path), .exists = true};
    view->contenders = lock->contenders;
    view->len = lock->len;
    if (view->len)
        qsort(view->contenders, view->len, sizeof(view->contenders[0]), compare);
    place_unfair(view);
    if (queue)
        permits = take_queue(view, queue);
    /* A kazoo Semaphore has only holders. */
    if (leases && !recipe_sequence(view_name(&view->contenders[0]), &(int32_t){0})) {
        semaphore = true;
        permits = leases;
    }
    if (ours) {
        view->permits = record.permits;
        view->lease_ms = record.lease_ms;
        view->vanished = recipe_vanished(lock->census, record.base);
        if (!recipe_plausible(view->vanished))
            view->vanished = 0;
        permits = (size_t)record.permits;
    }
    view->is_lock = ours || view->len || queue;
    view->used = recipe_departed(lock->census) > 0;
    judge(view, semaphore, count_first(view, semaphore, leases, permits),
          !semaphore && (!ours || view->vanished) ? lock->pzxid : 0);
}

bool view_next_waits(const struct view *view, uint32_t more)
{
    uint32_t vanished = view->vanished + more;

    return vanished > 0 && vanished >= (uint32_t)view->permits;
}

bool view_knows_vanished(const struct view *view)
{
    return view->is_lock || !view->used;
}

void view_release(struct view *view)
{
    for (size_t i = 0; i < view->len; i++)
        free(view->contenders[i].path);
    free(view->contenders);
    free(view->path);
    free(view->unread);
    *view = (struct view){0};
}
