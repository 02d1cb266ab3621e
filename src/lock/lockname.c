#include "lock/lockname.h"

#include <stdint.h>
#include <string.h>

#include "base/xalloc.h"
#include "ensemble/znode.h"
#include "lock/note.h"
#include "lock/recipe.h"

const char *lockname_prefix_fault(const char *prefix)
{
    if (prefix[0] == '\0')
        return "is empty";
    if (strchr(prefix, '/'))
        return "holds a slash";
    if (strlen(prefix) > LOCKNAME_PREFIX_MAX)
        return "is too long: at most 100 bytes";
    if (recipe_is_reserved(prefix))
        return "is that of readers or of --unfair";
    return znode_character_fault(prefix);
}

char *lockname_resolve(const char *name, const char *root, const char **fault)
{
    if (name[0] == '\0') {
        *fault = "is empty";
        return NULL;
    }

    char *path = name[0] == '/' ? xstrdup(name) : xasprintf("%s/%s", root[1] ? root : "", name);
    int32_t sequence;

    *fault = znode_path_fault(path);
    if (!*fault && (strcmp(path, "/zookeeper") == 0 || strncmp(path, "/zookeeper/", 11) == 0))
        *fault = "belongs to ZooKeeper itself";
    if (!*fault && recipe_sequence(path, &sequence))
        *fault = "is the name of a contender's znode, not of a lock: it ends in ten digits";
    /* Below a note nothing can be, or its lock could not be removed. */
    if (!*fault && (note_is_path(path) || strstr(path, NOTE_SUFFIX "/")))
        *fault = "has a part that ends in " NOTE_SUFFIX
                 ", as the znodes do where --once-per keeps its notes";
    if (*fault) {
        free(path);
        return NULL;
    }
    return path;
}
