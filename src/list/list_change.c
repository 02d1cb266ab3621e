#include "list/list_change.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

/* The contenders of a view, sorted by path. */
struct index {
    const struct view_contender **list;
    size_t len;
};

struct diff {
    bool begin;             /* nothing was read before */
    const struct view *old; /* NULL: the lock was not there */
    const struct view *now; /* empty if the lock is gone */
    struct index old_index;
    struct index now_index;
    uint32_t vanished; /* so many of those that went were not counted out */
    int (*take)(const struct change *change, void *whose);
    void *whose;
    int status; /* of take; when it is not 0, no more is told */
};

const char *list_change_word(enum change_kind kind)
{
    static const char *const words[] = {
        [CHANGE_FREE] = "free",         [CHANGE_HELD] = "held",
        [CHANGE_ACQUIRED] = "acquired", [CHANGE_WAITING] = "waiting",
        [CHANGE_SETTLING] = "settling", [CHANGE_RELEASED] = "released",
        [CHANGE_LEFT] = "left",         [CHANGE_VANISHED] = "vanished",
        [CHANGE_MADE] = "made",         [CHANGE_REMOVED] = "removed",
    };

    return words[kind];
}

static int compare(const void *a, const void *b)
{
    const struct view_contender *const *left = a;
    const struct view_contender *const *right = b;

    return strcmp((*left)->path, (*right)->path);
}

static struct index make_index(const struct view *view)
{
    struct index index = {.len = view ? view->len : 0};

    index.list = xcalloc(index.len + 1, sizeof(void *));
    for (size_t i = 0; i < index.len; i++)
        index.list[i] = &view->contenders[i];
    qsort(index.list, index.len, sizeof(void *), compare);
    return index;
}

/* Returns that znode in the other view, or NULL; another znode may have its name. */
static const struct view_contender *find_node(const struct index *index,
                                              const struct view_contender *contender)
{
    const struct view_contender **found = NULL;

    if (index->len)
        found = bsearch(&contender, index->list, index->len, sizeof(void *), compare);
    if (!found || ((*found)->read && contender->read && (*found)->czxid != contender->czxid))
        return NULL;
    return *found;
}

/*
 * Returns the same contender in the old view (in_old) or the new one, or NULL.  A contender that
 * gets a permit leaves the queue for the leases: with another znode, but the same session.  Others
 * may have that session too, but not if their znode held the permit or is in both views.
 */
static const struct view_contender *find(const struct diff *diff, bool in_old,
                                         const struct view_contender *contender)
{
    const struct index *there = in_old ? &diff->old_index : &diff->now_index;
    const struct index *here = in_old ? &diff->now_index : &diff->old_index;
    const struct view_contender *found = find_node(there, contender);

    for (size_t i = 0; !found && contender->kind == CONTENDER_PERMIT && i < there->len; i++) {
        const struct view_contender *other = there->list[i];
        const struct view_contender *same = find_node(here, other);
        bool held_before = in_old ? other->holds : contender->holds;

        if (other->read && contender->read && contender->session &&
            other->session == contender->session && !held_before && (!same || same->pending))
            found = other;
    }
    return found;
}

static void tell(struct diff *diff, enum change_kind kind, const struct view_contender *contender)
{
    const struct change change = {.kind = kind, .view = diff->now, .contender = contender};

    if (diff->status == 0)
        diff->status = diff->take(&change, diff->whose);
}

/*
 * An --unfair contender that finds the lock taken deletes its znode and waits without one: neither
 * its coming nor its going says how long it waits.
 */
static bool is_only_trying(const struct view_contender *contender)
{
    return contender->kind == CONTENDER_UNFAIR && !contender->holds && !contender->until_ms;
}

/* Holders come first: if only some of those that went vanished, holders are the likely ones. */
static void tell_gone(struct diff *diff)
{
    for (size_t i = 0; diff->old && i < diff->old->len; i++) {
        const struct view_contender *contender = &diff->old->contenders[i];

        if (contender->pending || find(diff, false, contender))
            continue;
        if (diff->vanished) {
            diff->vanished--;
            tell(diff, CHANGE_VANISHED, contender);
        } else if (!is_only_trying(contender)) {
            tell(diff, contender->holds ? CHANGE_RELEASED : CHANGE_LEFT, contender);
        }
    }
}

static void tell_one(struct diff *diff, const struct view_contender *contender)
{
    const struct view_contender *before = find(diff, true, contender);

    /* Told of once it was read. */
    if (contender->pending)
        return;
    if (before && before->pending)
        before = NULL;
    if (contender->holds && !(before && before->holds))
        tell(diff, diff->begin ? CHANGE_HELD : CHANGE_ACQUIRED, contender);
    else if (contender->until_ms && !(before && before->until_ms))
        tell(diff, CHANGE_SETTLING, contender);
    else if (!contender->holds && !contender->until_ms && !before && !is_only_trying(contender))
        tell(diff, CHANGE_WAITING, contender);
}

static void tell_all(struct diff *diff)
{
    bool readable = !(diff->old && diff->old->unread) && !diff->now->unread;
    bool was_lock = diff->old && diff->old->is_lock;

    tell_gone(diff);
    if (readable && !diff->begin && !was_lock && diff->now->is_lock)
        tell(diff, CHANGE_MADE, NULL);
    for (size_t i = 0; i < diff->now->len; i++)
        tell_one(diff, &diff->now->contenders[i]);
    if (readable && diff->begin && diff->now->len == 0)
        tell(diff, CHANGE_FREE, NULL);
    if (readable && was_lock && !diff->now->is_lock)
        tell(diff, CHANGE_REMOVED, NULL);
}

/* Returns whether permits are left beside those of vanished holders. */
static bool has_room(const struct view *view)
{
    return view->permits > 0 && view->holders + view->vanished <= (size_t)view->permits;
}

/*
 * Where one has vanished, a zkflock that becomes the first waits for that one, and counts it when
 * it has waited; but what it writes into its znode says first that it holds the lock.  Where it may
 * not count, the number of those that vanished stays: then only its wait, seen before, tells.
 */
static void put_off(const struct diff *diff, struct view *now)
{
    for (size_t i = 0; i < now->len; i++) {
        struct view_contender *contender = &now->contenders[i];
        const struct view_contender *before = find_node(&diff->old_index, contender);
        bool has_waited = before && (before->holds || before->until_ms);

        if (!has_waited && contender->told.known && !contender->told.terms.no_delay)
            contender->holds = false;
    }
    view_sort_holders(now);
    if (now->state == VIEW_HELD && !now->holders)
        now->state = VIEW_SETTLING;
}

/* old or now may be NULL: the lock came, or went. */
static void compare_views(struct diff *diff, const struct view *old, struct view *now)
{
    const struct view gone = {.path = old ? old->path : NULL};

    diff->old = old;
    diff->now = now ? now : &gone;
    diff->vanished =
        old && now && now->vanished > old->vanished ? now->vanished - old->vanished : 0;
    diff->old_index = make_index(old);
    if (old && now && now->vanished && !has_room(now))
        put_off(diff, now);
    diff->now_index = make_index(diff->now);
    tell_all(diff);
    free(diff->old_index.list);
    free(diff->now_index.list);
    diff->now = NULL; /* gone goes out of scope */
}

int list_changes(const struct view *old, size_t old_len, struct view *now, size_t now_len,
                 int (*take)(const struct change *change, void *whose), void *whose)
{
    struct diff diff = {.begin = !old, .take = take, .whose = whose};
    size_t i = 0;
    size_t j = 0;

    if (!old)
        old_len = 0;
    while ((i < old_len || j < now_len) && diff.status == 0) {
        int order = i == old_len ? 1 : j == now_len ? -1 : strcmp(old[i].path, now[j].path);

        compare_views(&diff, order <= 0 ? &old[i] : NULL, order >= 0 ? &now[j] : NULL);
        i += order <= 0;
        j += order >= 0;
    }
    return diff.status;
}
