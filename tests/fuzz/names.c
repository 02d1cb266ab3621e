/*
 * Names.  The first line is the name of a lock, and a --node-style: what is taken is a sound path,
 * and means the same when it is given again.  The others are the children of its znode: of any
 * children no two hold the lock that may not hold it together, one of them can always go on, and
 * each waits for one that is there.
 */
#include "fuzz.h"

#include "ensemble/znode.h"
#include "lock/lockname.h"
#include "lock/naming.h"
#include "lock/note.h"
#include "lock/recipe.h"

enum { CHILDREN_MAX = 40 };

static void check_path(const char *name, const char *root)
{
    const char *fault = NULL;
    const char *other_fault = NULL;
    char *path = lockname_resolve(name, root, &fault);
    char *again;
    char *above;
    int32_t sequence;

    if (!path) {
        MUST(fault && *fault);
        return;
    }
    MUST(path[0] == '/' && !znode_path_fault(path));
    MUST(!recipe_sequence(path, &sequence) && !note_is_path(path));
    again = lockname_resolve(path, "/elsewhere", &other_fault);
    MUST(again && strcmp(again, path) == 0);
    above = znode_above(path);
    MUST(strlen(above) < strlen(path) && strncmp(path, above, strlen(above)) == 0);
    free(above);
    free(again);
    free(path);
}

/* Whatever is ahead of the number in a name, the number is read as it was written. */
static void check_style(const char *text)
{
    static const char guid[] = "0123456789abcdef0123456789abcdef";
    struct naming naming;

    if (!naming_parse(text, &naming) ||
        (naming.style == NAMING_PLAIN && lockname_prefix_fault(naming.prefix)))
        return;
    for (int kind = NAMING_MUTEX; kind < NAMING_UNFAIR; kind++) {
        char *name = naming_name(&naming, (enum naming_kind)kind, guid);
        size_t size = strlen(name) + 16;
        char *child = malloc(size);
        int32_t sequence = -1;

        snprintf(child, size, "%s%010d", name, 4711);
        MUST(recipe_sequence(child, &sequence) && sequence == 4711);
        MUST(!strchr(name, '/') && !znode_character_fault(name));
        MUST(naming.style == NAMING_PLAIN || recipe_is_shared(child) == (kind == NAMING_READER));
        MUST(naming.style != NAMING_PLAIN || !recipe_is_shared(child));
        MUST(strcmp(child, RECIPE_UNFAIR_NAME) != 0);
        MUST(!naming_has_guid(&naming, (enum naming_kind)kind) || strstr(name, guid));
        free(child);
        free(name);
    }
}

static bool is_among(char *const *children, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(children[i], name) == 0)
            return true;
    return false;
}

/* A znode has no two children of one name. */
static void check_queue(char *const *children, size_t count)
{
    const char *first = recipe_first(children, count);
    size_t contenders = recipe_contenders(children, count);
    size_t exclusive = 0;
    size_t shared = 0;
    bool has_unfair = is_among(children, count, RECIPE_UNFAIR_NAME);

    MUST((first != NULL) == (contenders > 0) && contenders <= count);
    for (size_t i = 0; i < count; i++) {
        struct recipe_place place = recipe_place(children, count, children[i]);
        int32_t sequence;

        MUST(place.found == recipe_sequence(children[i], &sequence));
        if (!place.found)
            continue;
        MUST(place.ahead < contenders);
        MUST((place.ahead > 0) == (place.predecessor != NULL));
        if (place.predecessor) {
            MUST(is_among(children, count, place.predecessor));
            MUST(strcmp(place.predecessor, children[i]) != 0);
            /* The unfair one looks at the others alone. */
            MUST(place.predecessor_first == (strcmp(place.predecessor, first) == 0) ||
                 strcmp(children[i], RECIPE_UNFAIR_NAME) == 0);
        } else if (recipe_is_shared(children[i])) {
            shared++;
        } else {
            exclusive++;
        }
    }
    MUST(exclusive <= 1 && (exclusive == 0 || shared == 0));
    MUST(contenders == 0 || has_unfair || exclusive + shared > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = fuzz_text(bytes, size);
    char *rest = text;
    char *name = strsep(&rest, "\n");
    const char *root = rest ? strsep(&rest, "\n") : "/locks";
    char *children[CHILDREN_MAX];
    size_t count = 0;

    check_path(name, "/locks");
    if (root[0] == '/' && (!root[1] || !znode_path_fault(root)))
        check_path(name, root);
    check_style(name);
    while (rest && count < CHILDREN_MAX) {
        char *child = strsep(&rest, "\n");

        if (!is_among(children, count, child))
            children[count++] = child;
    }
    check_queue(children, count);
    free(text);
    return 0;
}
