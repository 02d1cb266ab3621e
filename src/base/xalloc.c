#include "base/xalloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/log.h"

static void *checked(void *memory)
{
    if (!memory) {
        log_error("out of memory");
        _exit(EXITCODE_OSERR);
    }
    return memory;
}

void *xcalloc(size_t count, size_t size)
{
    return checked(calloc(count, size));
}

void *xreallocarray(void *old, size_t count, size_t size)
{
    return checked(reallocarray(old, count, size));
}

char *xstrdup(const char *text)
{
    return checked(strdup(text));
}

char *xstrndup(const char *text, size_t len)
{
    return checked(strndup(text, len));
}

char *xasprintf(const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    return checked(text);
}

void xreplace(char **place, char *text)
{
    free(*place);
    *place = text;
}
