#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "ensemble/znode.h"
#include "list/survey_state.h"
#include "lock/note.h"
#include "lock/recipe.h"

static size_t find_slot(struct survey *survey)
{
    size_t slot = survey->slot_hint;

    while (slot < survey->slots_len && survey->slots[slot])
        slot++;
    if (slot == survey->slots_len) {
        survey->slots_len = 2 * slot + 16;
        survey->slots = xreallocarray(survey->slots, survey->slots_len, sizeof(void *));
        memset(survey->slots + slot, 0, (survey->slots_len - slot) * sizeof(void *));
    }
    survey->slot_hint = slot + 1;
    return slot;
}

struct znode *tree_new(struct survey *survey, struct znode *parent, char *path,
                       enum survey_depth depth)
{
    struct znode *znode = xcalloc(1, sizeof(*znode));
    int32_t sequence;

    znode->path = path;
    znode->name = strrchr(path, '/') + 1;
    znode->parent = parent;
    znode->depth = depth;
    znode->contender = parent && recipe_sequence(znode->name, &sequence);
    znode->is_note = note_is_path(path);
    znode->list_rc = znode->get_rc = ZNONODE;
    znode->slot = find_slot(survey);
    survey->slots[znode->slot] = znode;
    survey->len++;
    return znode;
}

void tree_owe_nothing(struct survey *survey, struct znode *znode)
{
    for (int what = 0; what < ASKS; what++) {
        survey->owed -= znode->owed[what];
        znode->owed[what] = false;
    }
}

void tree_free(struct survey *survey, struct znode *znode)
{
    survey->slots[znode->slot] = NULL;
    survey->len--;
    if (znode->slot < survey->slot_hint)
        survey->slot_hint = znode->slot;
    free(znode->path);
    free(znode->told);
    free(znode->children);
    free(znode);
}

void tree_drop(struct survey *survey, struct znode *znode)
{
    for (size_t i = 0; i < znode->len; i++)
        tree_drop(survey, znode->children[i]);
    znode->len = 0;
    znode->dropped = true;
    tree_owe_nothing(survey, znode);
    if (!znode->pending)
        tree_free(survey, znode);
}

/* The two znodes of a semaphore are part of the lock. */
static bool is_of_interest(const struct znode *znode, const char *name)
{
    int32_t sequence;

    if (recipe_sequence(name, &sequence))
        return true;
    if (znode->depth == SURVEY_LOCK)
        return recipe_is_semaphore_part(name) || recipe_may_be_kazoo_permit(name);
    /* ZooKeeper's own znode is at the top; under a chroot it cannot be seen. */
    return (znode->depth == SURVEY_TREE || !note_is_path(name)) &&
           !(!znode->path[1] && strcmp(name, "zookeeper") == 0);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns true if it was gone when it was read last: since it is listed, it was made again. */
static bool is_gone(const struct znode *znode)
{
    return !znode->pending && (survey_is_leaf(znode) ? znode->get_rc : znode->list_rc) == ZNONODE;
}

/* No lock is below a path longer than a lock's can be. */
static bool has_room(struct survey *survey, const struct znode *parent)
{
    bool room = survey->len < SURVEY_MAX && strlen(parent->path) <= ZNODE_PATH_MAX;

    survey->cut |= !room;
    return room;
}

/* Old and new are sorted: one pass finds which came and which went. */
bool tree_set_children(struct survey *survey, struct znode *znode, char *const *names, size_t len,
                       void (*unknown)(struct survey *survey, struct znode *child))
{
    const char **wanted = xcalloc(len + 1, sizeof(wanted[0]));
    struct znode **children = xcalloc(len + 1, sizeof(void *));
    size_t wanted_len = 0;
    size_t children_len = 0;
    size_t old = 0;
    size_t kept = 0;
    bool changed;

    for (size_t i = 0; i < len; i++)
        if (is_of_interest(znode, names[i]))
            wanted[wanted_len++] = names[i];
    qsort(wanted, wanted_len, sizeof(wanted[0]), compare_names);
    for (size_t i = 0; i < wanted_len; i++) {
        while (old < znode->len && strcmp(znode->children[old]->name, wanted[i]) < 0)
            tree_drop(survey, znode->children[old++]);
        if (old < znode->len && strcmp(znode->children[old]->name, wanted[i]) == 0) {
            struct znode *child = znode->children[old++];

            children[children_len++] = child;
            kept++;
            if (is_gone(child))
                unknown(survey, child);
        } else if (has_room(survey, znode)) {
            char *path = xasprintf("%s/%s", znode->path[1] ? znode->path : "", wanted[i]);
            struct znode *child = tree_new(survey, znode, path, znode->depth);

            children[children_len++] = child;
            unknown(survey, child);
        }
    }
    while (old < znode->len)
        tree_drop(survey, znode->children[old++]);
    changed = kept < znode->len || kept < children_len;
    free(wanted);
    free(znode->children);
    znode->children = children;
    znode->len = children_len;
    return changed;
}

static int compare_child(const void *name, const void *child)
{
    return strcmp(name, (*(struct znode *const *)child)->name);
}

struct znode *tree_child(const struct znode *znode, const char *name)
{
    struct znode **child = NULL;

    if (znode->len)
        child = bsearch(name, znode->children, znode->len, sizeof(void *), compare_child);
    return child ? *child : NULL;
}

struct znode *tree_find(struct znode *root, const char *path)
{
    size_t len = root->path[1] ? strlen(root->path) : 0;
    struct znode *znode = root;

    if (strncmp(path, root->path, len) != 0)
        return NULL;
    path += len;
    while (znode && path[0] == '/' && path[1]) {
        size_t part = strcspn(path + 1, "/");
        char *name = xstrndup(path + 1, part);

        znode = tree_child(znode, name);
        free(name);
        path += 1 + part;
    }
    return *path == '\0' || strcmp(path, "/") == 0 ? znode : NULL;
}
