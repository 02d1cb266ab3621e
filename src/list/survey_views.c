#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "list/survey_state.h"
#include "lock/note.h"

/* Views, as far as they were made: one for each znode at the most. */
struct gathering {
    const struct survey *survey;
    struct view *views;
    size_t len;
};

/* The children of a kazoo Semaphore have no sequence numbers. */
static bool is_kazoo_permit(const struct znode *znode)
{
    return !znode->contender && znode->get_rc == ZOK && recipe_may_be_kazoo_permit(znode->name) &&
           recipe_is_ephemeral(znode->stat.ephemeralOwner);
}

static bool is_there(const struct znode *child)
{
    if (!child->contender)
        return is_kazoo_permit(child);
    return child->get_rc != ZNONODE || child->pending || child->depth == SURVEY_NAMES;
}

/* Copies what was read.  A znode that no session owns is no contender's own, whatever it tells. */
static void take_contender(const struct znode *child, struct view_contender *contender)
{
    contender->read = true;
    if (recipe_is_ephemeral(child->stat.ephemeralOwner)) {
        contender->session = child->stat.ephemeralOwner;
        if (child->told)
            contender->told = *child->told;
    }
    contender->czxid = child->stat.czxid;
    contender->ctime_ms = child->stat.ctime;
    contender->mtime_ms = child->stat.mtime;
}

static struct recipe_census census_of(const struct znode *znode)
{
    return (struct recipe_census){.version = znode->stat.version,
                                  .cversion = znode->stat.cversion,
                                  .children = znode->stat.numChildren};
}

static void source_of(const struct znode *znode, struct view_source *source)
{
    *source = (struct view_source){
        .data = znode->data,
        .data_len = znode->data_len,
        .census = census_of(znode),
        .pzxid = znode->stat.pzxid,
        .contenders = xcalloc(znode->len + 1, sizeof(source->contenders[0])),
    };
    for (size_t i = 0; i < znode->len; i++) {
        const struct znode *child = znode->children[i];
        struct view_contender *contender = &source->contenders[source->len];

        if (!is_there(child))
            continue;
        *contender = (struct view_contender){.path = xstrdup(child->path)};
        contender->rc = child->get_rc;
        if (child->told || !child->contender)
            take_contender(child, contender);
        else
            contender->pending = child->pending;
        source->len++;
    }
}

static bool has_contenders(const struct znode *znode)
{
    for (size_t i = 0; i < znode->len; i++)
        if (znode->children[i]->contender)
            return true;
    return false;
}

static bool has_kazoo_permits(const struct znode *znode)
{
    for (size_t i = 0; i < znode->len; i++)
        if (is_kazoo_permit(znode->children[i]))
            return true;
    return false;
}

/*
 * Returns the leases of a semaphore, or NULL if znode is none: locks may have the names of a
 * semaphore's parts, also beside a kazoo Semaphore.
 */
static const struct znode *leases_of(const struct znode *znode, bool is_kazoo_semaphore)
{
    const struct znode *leases = tree_child(znode, RECIPE_SEMAPHORE_LEASES);
    struct record record;

    if (!leases || has_contenders(znode) || is_kazoo_semaphore)
        return NULL;
    if (record_decode(leases->data, leases->data_len, &record))
        return record.permits ? leases : NULL;
    return tree_child(znode, RECIPE_SEMAPHORE_LOCKS) ? leases : NULL;
}

/*
 * Tells the parts of a semaphore that is being made from locks with their names: the znode under
 * which permits are taken has no record, and its contenders say that they take one.  A znode that
 * was not read yet may be a part.
 */
static bool is_unfinished_part(const struct znode *znode)
{
    struct record record;

    if (!recipe_is_semaphore_part(znode->name) || znode->list_rc != ZOK)
        return false;
    if (znode->get_rc == ZNONODE)
        return true;
    if (znode->data_len > 0)
        return record_decode(znode->data, znode->data_len, &record) && record.permits;
    for (size_t i = 0; i < znode->len; i++) {
        const struct contender *told = znode->children[i]->told;

        if (told && told->terms.kind != CONTENDER_PERMIT)
            return false;
    }
    return has_contenders(znode);
}

const struct znode *survey_semaphore_around(const struct survey *survey, const struct znode *root)
{
    size_t len = (size_t)(root->name - 1 - root->path);

    if (root->role != ROLE_ASKED || !recipe_is_semaphore_part(root->name))
        return NULL;
    for (size_t i = 0; i < survey->roots_len; i++) {
        const struct znode *above = survey->roots[i];

        if (above->role == ROLE_BESIDE && strncmp(above->path, root->path, len) == 0 &&
            !above->path[len] && leases_of(above, has_kazoo_permits(above)))
            return above;
    }
    return NULL;
}

/* Reads the note of --once-per for the lock there: its sibling, or a root of its own. */
static int64_t success_of(const struct survey *survey, const struct znode *znode)
{
    char *path = note_path(znode->path);
    const struct znode *note = NULL;
    int64_t began = NOTE_NEVER;

    if (znode->parent)
        note = tree_child(znode->parent, strrchr(path, '/') + 1);
    for (size_t i = 0; i < survey->roots_len && !znode->parent && !note; i++)
        if (strcmp(survey->roots[i]->path, path) == 0)
            note = survey->roots[i];
    free(path);
    if (note && note->get_rc == ZOK)
        note_decode(note->data, note->data_len, &began);
    return began;
}

/* Returns why it could not be read; ZOK if it was, or is not there. */
static int fault_of(const struct znode *znode)
{
    if (znode->list_rc != ZOK)
        return znode->list_rc == ZNONODE ? ZOK : znode->list_rc;
    return znode->get_rc == ZNONODE ? ZOK : znode->get_rc;
}

/* Adds a view without a lock, of a place where none is, or of which unread could not be read. */
static void add_bare(struct gathering *gathering, const struct znode *znode,
                     const struct znode *unread)
{
    gathering->views[gathering->len++] =
        (struct view){.path = xstrdup(znode->path),
                      .exists = znode->list_rc != ZNONODE,
                      .used = recipe_departed(census_of(znode)) > 0,
                      .success_ms = success_of(gathering->survey, znode),
                      .unread = unread ? xstrdup(unread->path) : NULL,
                      .unread_rc = unread ? fault_of(unread) : ZOK};
}

/* Returns false if nothing more can be known of it. */
static bool add_lock(struct gathering *gathering, const struct znode *znode,
                     const struct znode *leases)
{
    const struct znode *queue = leases ? tree_child(znode, RECIPE_SEMAPHORE_LOCKS) : NULL;
    const struct znode *parts[] = {znode, leases, queue};
    struct view_source source;
    struct view_source queue_source = {0};
    struct view *view = &gathering->views[gathering->len];

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i] && fault_of(parts[i])) {
            add_bare(gathering, znode, parts[i]);
            return false;
        }
    }
    source_of(leases ? leases : znode, &source);
    if (queue)
        source_of(queue, &queue_source);
    view_make(view, znode->path, &source, leases ? &queue_source : NULL);
    view->success_ms = success_of(gathering->survey, znode);
    if (view->is_lock)
        gathering->len++;
    else
        view_release(view);
    return true;
}

/* Skips a part of a semaphore, which is no lock; but locks may be below it. */
static void gather(struct gathering *gathering, const struct znode *znode, bool is_part)
{
    bool is_kazoo_semaphore = has_kazoo_permits(znode);
    const struct znode *leases = leases_of(znode, is_kazoo_semaphore);

    if (!is_part && !add_lock(gathering, znode, leases))
        return;
    for (size_t i = 0; znode->depth != SURVEY_LOCK && i < znode->len; i++) {
        const struct znode *child = znode->children[i];
        /* Also unused parts beside a kazoo Semaphore: it is used, and shown, as kazoo's. */
        bool is_child_part = is_unfinished_part(child) ||
                             (recipe_is_semaphore_part(child->name) &&
                              (leases || (is_kazoo_semaphore && !has_contenders(child))));

        if (!survey_is_leaf(child))
            gather(gathering, child, is_child_part);
    }
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct view *)a)->path, ((const struct view *)b)->path);
}

/* Keeps one view for each path: places may be within each other. */
static size_t drop_doubles(struct view *views, size_t len)
{
    size_t kept = 0;

    for (size_t i = 0; i < len; i++) {
        if (kept && strcmp(views[kept - 1].path, views[i].path) == 0)
            view_release(&views[i]);
        else
            views[kept++] = views[i];
    }
    return kept;
}

struct view *survey_views(const struct survey *survey, size_t *count)
{
    struct gathering gathering = {survey, xcalloc(survey->len + 1, sizeof(struct view)), 0};

    for (size_t i = 0; i < survey->roots_len; i++) {
        const struct znode *root = survey->roots[i];
        size_t before = gathering.len;

        if (root->role == ROLE_BESIDE)
            continue;
        if (!survey_semaphore_around(survey, root))
            gather(&gathering, root, is_unfinished_part(root));
        if (root->role == ROLE_ASKED && gathering.len == before)
            add_bare(&gathering, root, NULL);
    }
    qsort(gathering.views, gathering.len, sizeof(gathering.views[0]), compare);
    *count = drop_doubles(gathering.views, gathering.len);
    return gathering.views;
}

void survey_views_free(struct view *views, size_t count)
{
    for (size_t i = 0; i < count; i++)
        view_release(&views[i]);
    free(views);
}
