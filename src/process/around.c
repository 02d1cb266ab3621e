#include "process/around.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

char *around_with(const char *name)
{
    const char *others = getenv(AROUND_VARIABLE);

    return others && *others ? xasprintf("%s %s", others, name) : xstrdup(name);
}

char *around_without(const char *name)
{
    const char *held = getenv(AROUND_VARIABLE);
    char *copy = xstrdup(held ? held : "");
    char *rest = copy;
    char *others = NULL;

    while (rest) {
        const char *one = strsep(&rest, " ");

        if (*one && strcmp(one, name) != 0)
            xreplace(&others, others ? xasprintf("%s %s", others, one) : xstrdup(one));
    }
    free(copy);
    return others;
}
