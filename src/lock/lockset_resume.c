#include "lock/lockset_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

static const char *or_dash(const char *text)
{
    return text && *text ? text : "-";
}

size_t lockset_export(const struct lockset *set, char *text, size_t size)
{
    size_t len = 0;

    for (size_t i = 0; i < set->count; i++) {
        const struct lock *lock = set->locks[i];

        if (!lock || lockset_is_over(lock))
            continue;

        size_t room = len < size ? size - len : 0;

        /* A tab cannot be part of a znode's path. */
        len += (size_t)snprintf(text + (room ? len : 0), room, "%s\t%s\t%s\n", lock_path(lock),
                                or_dash(lock_guid(lock)), or_dash(lock_node(lock)));
    }
    return len;
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;

    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

struct lockset *lockset_resume(struct session *session, const char *text)
{
    struct lockset *set = xcalloc(1, sizeof(*set));
    char *copy = xstrdup(text);
    char *rest = copy;

    set->session = session;
    set->count = count_lines(text);
    set->locks = xcalloc(set->count, sizeof(struct lock *));
    set->state = LOCKSET_LEAVING;
    for (size_t i = 0; i < set->count; i++) {
        const char *path = strsep(&rest, "\t");
        const char *guid = strsep(&rest, "\t");
        const char *node = strsep(&rest, "\n");

        set->locks[i] = lock_resume(session, (int)i, path, guid[0] == '-' ? "" : guid,
                                    node[0] == '-' ? "" : node);
    }
    free(copy);
    return set;
}
