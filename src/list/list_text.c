#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "ensemble/fault.h"
#include "list/list_parts.h"

char *list_who(const struct view_contender *contender)
{
    const struct contender *told = &contender->told;

    if (told->host[0])
        return xasprintf("%s@%s", told->user, told->host);
    if (!contender->read)
        return xstrdup("?");
    if (told->address[0])
        return xstrdup(told->address);
    if (contender->session == 0)
        return xstrdup("nobody's"); /* a znode that does not go with a session */
    return xasprintf("session 0x%" PRIx64, contender->session);
}

char *list_pid(const struct view_contender *contender)
{
    return contender->told.pid ? xasprintf("%" PRId64, contender->told.pid) : xstrdup("");
}

char *list_command(const struct view_contender *contender)
{
    if (contender->told.command[0])
        return xstrdup(contender->told.command);
    if (contender->pending)
        return xstrdup("");
    if (!contender->read)
        return xasprintf("(unknown: %s)", fault_text(contender->rc));
    return xstrdup(contender->told.known ? "" : "(unknown)");
}

const char *list_state(const struct view *view)
{
    static const char *const words[] = {
        [VIEW_FREE] = "free", [VIEW_HELD] = "held", [VIEW_SETTLING] = "settling"};

    return view->unread ? "?" : words[view->state];
}

const char *list_kind_word(enum contender_kind kind)
{
    static const char *const words[] = {
        [CONTENDER_EXCLUSIVE] = "exclusive",
        [CONTENDER_SHARED] = "shared",
        [CONTENDER_UNFAIR] = "unfair",
        [CONTENDER_PERMIT] = "permit",
    };

    return words[kind];
}

char *list_kind(const struct view *view)
{
    if (!view->kind_known)
        return xstrdup("");
    if (view->kind == CONTENDER_PERMIT && view->permits)
        return xasprintf("permits %zu/%" PRId32, view->holders, view->permits);
    if (view->kind == CONTENDER_PERMIT)
        return xasprintf("permits %zu", view->holders);
    if (view->holders > 1)
        return xasprintf("%s x%zu", list_kind_word(view->kind), view->holders);
    return xstrdup(list_kind_word(view->kind));
}

char *list_summary(const struct view *views, size_t count)
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
