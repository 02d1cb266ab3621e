#include "list/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of a name that somebody has made at great length, the beginning will do. */
#define NAME_SHOWN 200

bool describe_is_ours(const struct view_contender *contender)
{
    return contender->read && contender->told.known;
}

const char *describe_contender(const struct view_contender *contender, char text[DESCRIBE_SIZE])
{
    const struct contender *told = &contender->told;
    char name[NAME_SHOWN];

    contender_copy_printable(name, sizeof(name), view_name(contender),
                             strlen(view_name(contender)));
    if (describe_is_ours(contender) && told->pid)
        snprintf(text, DESCRIBE_SIZE, "%s@%s pid %" PRId64 ": %s", told->user, told->host,
                 told->pid, told->command);
    else if (contender->read && told->address[0])
        snprintf(text, DESCRIBE_SIZE, "%s from %s", name, told->address);
    else
        snprintf(text, DESCRIBE_SIZE, "%s", name);
    return text;
}
