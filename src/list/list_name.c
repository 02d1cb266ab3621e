#include "list/list_parts.h"

#include <string.h>

#include "base/xalloc.h"
#include "config/together.h"
#include "ensemble/znode.h"
#include "lock/lockname.h"

int list_name_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

const char **list_name_configured(const struct options *options, size_t *count)
{
    const struct settings *settings = &options->settings;
    const char **names = xcalloc(settings->len + 1, sizeof(names[0]));
    size_t len = 0;
    size_t kept = 0;

    for (size_t i = 0; i < settings->len; i++)
        if (settings->list[i].lock)
            names[len++] = settings->list[i].lock;
    qsort(names, len, sizeof(names[0]), list_name_compare);
    for (size_t i = 0; i < len; i++)
        if (kept == 0 || strcmp(names[kept - 1], names[i]) != 0)
            names[kept++] = names[i];
    *count = kept;
    return names;
}

const char *list_name_root(const struct options *options)
{
    const struct setting *root = settings_find(&options->settings, CHOICE_ROOT, NULL);

    return root ? root->text : LOCKNAME_ROOT;
}

/* Returns true if a user who types this name means the path. */
static bool means(const struct options *options, const char *name, const char *path)
{
    char *meant = together_path(options, name);
    bool same = meant && strcmp(meant, path) == 0;

    free(meant);
    return same;
}

char *list_name(const struct options *options, const char *path)
{
    const char *root = list_name_root(options);
    size_t len = root[1] ? strlen(root) : 0;
    size_t count;
    const char **names = list_name_configured(options, &count);
    char *name = NULL;

    for (size_t i = 0; i < count && !name; i++)
        if (means(options, names[i], path) && together_same_ensemble(options, names[i]))
            name = xstrdup(names[i]);
    free(names);
    if (name)
        return name;
    /* A name below the root may mean another lock in a config file. */
    if (strncmp(path, root, len) == 0 && path[len] == '/' && path[len + 1] &&
        strlen(path) <= ZNODE_PATH_MAX && means(options, path + len + 1, path))
        return xstrdup(path + len + 1);
    return xstrdup(path);
}
