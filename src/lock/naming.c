#include "lock/naming.h"

#include <string.h>

#include "base/xalloc.h"
#include "lock/recipe.h"

bool naming_parse(const char *text, struct naming *naming)
{
    static const char plain[] = "plain:";

    *naming = (struct naming){0};
    if (strcmp(text, "curator") == 0) {
        naming->style = NAMING_CURATOR;
    } else if (strcmp(text, "kazoo") == 0) {
        naming->style = NAMING_KAZOO;
    } else if (strncmp(text, plain, strlen(plain)) == 0) {
        naming->style = NAMING_PLAIN;
        naming->prefix = text + strlen(plain);
    } else {
        return false;
    }
    return true;
}

char *naming_name(const struct naming *naming, enum naming_kind kind, const char *guid)
{
    static const char *const curator[] = {[NAMING_MUTEX] = "lock-",
                                          [NAMING_WRITER] = "__WRIT__",
                                          [NAMING_READER] = "__READ__",
                                          [NAMING_PERMIT] = "lease-"};

    if (kind == NAMING_UNFAIR)
        return xstrdup(RECIPE_UNFAIR_NAME);
    switch (naming->style) {
    case NAMING_KAZOO:
        return xasprintf("%s%s", guid, kind == NAMING_READER ? "__rlock__" : "__lock__");
    case NAMING_PLAIN:
        return xstrdup(naming->prefix);
    default:
        return xasprintf("_c_%s-%s", guid, curator[kind]);
    }
}

bool naming_has_guid(const struct naming *naming, enum naming_kind kind)
{
    return naming->style != NAMING_PLAIN && kind != NAMING_UNFAIR;
}
