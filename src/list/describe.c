#include "list/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/xalloc.h"
#include "ensemble/fault.h"

/* Shows so much of a name: others may make long ones. */
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
    else if (contender->read && contender->session)
        snprintf(text, DESCRIBE_SIZE, "%s of session 0x%" PRIx64, name, contender->session);
    else
        snprintf(text, DESCRIBE_SIZE, "%s%s", name, contender->read ? ", a persistent znode" : "");
    return text;
}

char *describe_who(const struct view_contender *contender)
{
    const struct contender *told = &contender->told;

    if (told->host[0])
        return xasprintf("%s@%s", told->user, told->host);
    if (!contender->read)
        return xstrdup("?");
    if (told->address[0])
        return xstrdup(told->address);
    if (contender->session == 0)
        return xstrdup("persistent"); /* the znode goes with no session */
    return xasprintf("session 0x%" PRIx64, contender->session);
}

char *describe_pid(const struct view_contender *contender)
{
    return contender->told.pid ? xasprintf("%" PRId64, contender->told.pid) : xstrdup("");
}

char *describe_command(const struct view_contender *contender)
{
    if (contender->told.command[0])
        return xstrdup(contender->told.command);
    if (contender->pending)
        return xstrdup("");
    if (!contender->read)
        return xasprintf("(unknown: %s)", fault_text(contender->rc));
    return xstrdup(contender->told.known ? "" : "(unknown)");
}

const char *describe_state(const struct view *view, const char *unread)
{
    static const char *const words[] = {
        [VIEW_FREE] = "free", [VIEW_HELD] = "held", [VIEW_SETTLING] = "settling"};

    return view->unread ? unread : words[view->state];
}

const char *describe_kind_word(enum contender_kind kind)
{
    static const char *const words[] = {
        [CONTENDER_EXCLUSIVE] = "exclusive",
        [CONTENDER_SHARED] = "shared",
        [CONTENDER_UNFAIR] = "unfair",
        [CONTENDER_PERMIT] = "permit",
    };

    return words[kind];
}

char *describe_kind(const struct view *view)
{
    if (!view->kind_known)
        return xstrdup("");
    if (view->kind == CONTENDER_PERMIT && view->permits)
        return xasprintf("permits %zu/%" PRId32, view->holders, view->permits);
    if (view->kind == CONTENDER_PERMIT)
        return xasprintf("permits %zu", view->holders);
    if (view->holders > 1)
        return xasprintf("%s x%zu", describe_kind_word(view->kind), view->holders);
    return xstrdup(describe_kind_word(view->kind));
}

char *describe_all(const struct view *views, size_t count)
{
    size_t held = 0;
    size_t waiting = 0;

    for (size_t i = 0; i < count; i++) {
        held += views[i].holders > 0;
        waiting += views[i].len - views[i].holders;
    }
    return xasprintf("%zu lock%s, %zu held, %zu waiting", count, count == 1 ? "" : "s", held,
                     waiting);
}
