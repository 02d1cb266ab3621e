#include "process/around.h"

#include <stdlib.h>

#include "base/xalloc.h"

int around_add(const char *name)
{
    const char *others = getenv(AROUND_VARIABLE);
    char *all = others && *others ? xasprintf("%s %s", others, name) : xstrdup(name);
    int failed = setenv(AROUND_VARIABLE, all, 1);

    free(all);
    return failed;
}
