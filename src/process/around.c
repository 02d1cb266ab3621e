#include "process/around.h"

#include <stdlib.h>

#include "base/xalloc.h"

char *around_with(const char *name)
{
    const char *others = getenv(AROUND_VARIABLE);

    return others && *others ? xasprintf("%s %s", others, name) : xstrdup(name);
}
