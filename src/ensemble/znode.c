#include "ensemble/znode.h"

#include <stdint.h>
#include <string.h>

#include "base/xalloc.h"

/*
 * ZooKeeper refuses U+0000 to U+001F, U+007F to U+009F, U+D800 to U+F8FF and U+FFF0 to U+FFFF
 * (PathUtils.validatePath), and what lies above, since it looks at Java's surrogates.  The same
 * here, and nothing that is not UTF-8.
 */
const char *znode_character_fault(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

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

const char *znode_path_fault(const char *path)
{
    if (strlen(path) > ZNODE_PATH_MAX)
        return "is too long: at most 1024 bytes";

    const char *fault = znode_character_fault(path);

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

char *znode_above(const char *path)
{
    size_t len = (size_t)(strrchr(path, '/') - path);

    return xstrndup(path, len ? len : 1);
}
