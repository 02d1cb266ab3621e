#include "ensemble/lockname.h"

#include <stdint.h>
#include <string.h>

#include "base/xalloc.h"
#include "lock/note.h"
#include "lock/recipe.h"

/*
 * ZooKeeper refuses U+0000 to U+001F, U+007F to U+009F, U+D800 to U+F8FF and U+FFF0 to U+FFFF
 * (PathUtils.validatePath), and what lies above, since it looks at Java's surrogates.  The same
 * here, and nothing that is not UTF-8.
 */
static const char *character_fault(const char *path)
{
    const unsigned char *p = (const unsigned char *)path;

    while (*p) {
        uint32_t c = *p++;
        int more = c < 0x80 ? 0 : c < 0xc2 ? -1 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : -1;
        uint32_t least[] = {0, 0x80, 0x800, 0x10000};

        if (more < 0)
            return "is not valid UTF-8";
        if (more > 0)
            c &= 0x3fU >> more;
        for (int i = 0; i < more; i++) {
            if ((*p & 0xc0) != 0x80)
                return "is not valid UTF-8";
            c = c << 6 | (*p++ & 0x3f);
        }
        if (c < least[more] || c > 0x10ffff)
            return "is not valid UTF-8";
        if (c < 0x20 || (c >= 0x7f && c < 0xa0))
            return "holds a control character";
        if ((c >= 0xd800 && c <= 0xf8ff) || c >= 0xfff0)
            return "holds a character that ZooKeeper does not allow in names";
    }
    return NULL;
}

const char *lockname_path_fault(const char *path)
{
    if (strlen(path) > LOCKNAME_MAX)
        return "is too long: at most 1024 bytes";

    const char *fault = character_fault(path);

    if (fault)
        return fault;
    if (path[0] != '/' || path[1] == '\0')
        return "names no znode";
    for (const char *part = path; part; part = strchr(part + 1, '/')) {
        size_t len = strcspn(part + 1, "/");

        if (len == 0)
            return part[1] == '\0' ? "ends in a slash" : "has an empty part (//)";
        if ((len == 1 && part[1] == '.') || (len == 2 && part[1] == '.' && part[2] == '.'))
            return "has a part . or .., which ZooKeeper does not allow";
    }
    return NULL;
}

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
    return character_fault(prefix);
}

char *lockname_resolve(const char *name, const char *root, const char **fault)
{
    if (name[0] == '\0') {
        *fault = "is empty";
        return NULL;
    }

    char *path = name[0] == '/' ? xstrdup(name) : xasprintf("%s/%s", root[1] ? root : "", name);
    int32_t sequence;

    *fault = lockname_path_fault(path);
    if (!*fault && (strcmp(path, "/zookeeper") == 0 || strncmp(path, "/zookeeper/", 11) == 0))
        *fault = "belongs to ZooKeeper itself";
    if (!*fault && recipe_sequence(path, &sequence))
        *fault = "ends in ten digits, as the znodes of contenders do";
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

char *lockname_above(const char *path)
{
    size_t len = (size_t)(strrchr(path, '/') - path);

    return xstrndup(path, len ? len : 1);
}
