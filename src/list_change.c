#include "list_change.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

/* The contenders of a view, in the order of their paths. */
struct index {
    const struct view_contender **list;
    size_t len;
};

struct diff {
    bool begin; /* there is nothing to compare with */
    const struct view *old;
    const struct view *now;
    struct index old_index;
    struct index now_index;
    uint32_t vanished; /* of those who went, so many without a word */
    int (*take)(const struct change *change, void *whose);
    void *whose;
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

/* The same contender in the other view, or NULL; of the same name it may be another one. */
static const struct view_contender *find(const struct index *index,
                                         const struct view_contender *contender)
{
    const struct view_contender **found = NULL;

    if (index->len)
        found = bsearch(&contender, index->list, index->len, sizeof(void *), compare);
    if (!found || ((*found)->read && contender->read && (*found)->czxid != contender->czxid))
        return NULL;
    return *found;
}

static int tell(const struct diff *diff, enum change_kind kind,
                const struct view_contender *contender)
{
    const struct change change = {
        .kind = kind, .view = diff->now ? diff->now : diff->old, .contender = contender};

    return diff->take(&change, diff->whose);
}

/* Holders first: if not all that went did so without a word, one of them is likely to have. */
static int tell_gone(struct diff *diff)
{
    int status = 0;

    for (size_t i = 0; diff->old && i < diff->old->len && status == 0; i++) {
        const struct view_contender *contender = &diff->old->contenders[i];

        if (contender->pending || find(&diff->now_index, contender))
            continue;
        if (diff->vanished) {
            diff->vanished--;
            status = tell(diff, CHANGE_VANISHED, contender);
        } else {
            status = tell(diff, contender->holds ? CHANGE_RELEASED : CHANGE_LEFT, contender);
        }
    }
    return status;
}

static int tell_one(const struct diff *diff, const struct view_contender *contender)
{
    const struct view_contender *before = find(&diff->old_index, contender);

    /* It is told of when it is known who that is. */
    if (contender->pending)
        return 0;
    if (before && before->pending)
        before = NULL;
    if (contender->holds && !(before && before->holds))
        return tell(diff, diff->begin ? CHANGE_HELD : CHANGE_ACQUIRED, contender);
    if (contender->until_ms && !(before && before->until_ms))
        return tell(diff, CHANGE_SETTLING, contender);
    if (!contender->holds && !contender->until_ms && !before)
        return tell(diff, CHANGE_WAITING, contender);
    return 0;
}

static int tell_lock(const struct diff *diff)
{
    bool was = diff->old && diff->old->is_lock;
    bool is = diff->now && diff->now->is_lock;

    if ((diff->old && diff->old->unread) || (diff->now && diff->now->unread))
        return 0;
    if (diff->begin && diff->now && diff->now->len == 0)
        return tell(diff, CHANGE_FREE, NULL);
    if (was && !is)
        return tell(diff, CHANGE_REMOVED, NULL);
    if (!diff->begin && !was && is && diff->now->len == 0)
        return tell(diff, CHANGE_MADE, NULL);
    return 0;
}

static int tell_all(struct diff *diff)
{
    int status = tell_gone(diff);

    for (size_t i = 0; diff->now && i < diff->now->len && status == 0; i++)
        status = tell_one(diff, &diff->now->contenders[i]);
    return status ? status : tell_lock(diff);
}

/* Either may be NULL: the lock has come, or has gone. */
static int compare_views(struct diff *diff, const struct view *old, const struct view *now)
{
    int status;

    diff->old = old;
    diff->now = now;
    diff->vanished =
        old && now && now->vanished > old->vanished ? now->vanished - old->vanished : 0;
    diff->old_index = make_index(old);
    diff->now_index = make_index(now);
    status = tell_all(diff);
    free(diff->old_index.list);
    free(diff->now_index.list);
    return status;
}

int list_changes(const struct view *old, size_t old_len, const struct view *now, size_t now_len,
                 int (*take)(const struct change *change, void *whose), void *whose)
{
    struct diff diff = {.begin = !old, .take = take, .whose = whose};
    size_t i = 0;
    size_t j = 0;
    int status = 0;

    if (!old)
        old_len = 0;
    while ((i < old_len || j < now_len) && status == 0) {
        int order = i == old_len ? 1 : j == now_len ? -1 : strcmp(old[i].path, now[j].path);

        status = compare_views(&diff, order <= 0 ? &old[i] : NULL, order >= 0 ? &now[j] : NULL);
        i += order <= 0;
        j += order >= 0;
    }
    return status;
}
