#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "ensemble/fault.h"
#include "ensemble/servers.h"
#include "list/describe.h"
#include "list/list_parts.h"

static const struct table_column lock_columns[] = {
    {.title = "LOCK", .comfort = 28, .least = 12, .order = 2},
    {.title = "STATE"},
    {.title = "KIND"},
    {.title = "HOLDER", .comfort = 24, .least = 12, .order = 2},
    {.title = "PID", .right = true},
    {.title = "FOR", .right = true},
    {.title = "WAIT", .right = true},
    {.title = "COMMAND", .comfort = 24, .least = 10, .order = 1},
};

static const struct table_column queue_columns[] = {
    {.title = "PLACE"},
    {.title = "WHO", .comfort = 24, .least = 12, .order = 2},
    {.title = "PID", .right = true},
    {.title = "KIND"},
    {.title = "FOR", .right = true},
    {.title = "COMMAND", .comfort = 24, .least = 10, .order = 1},
};

enum {
    LOCK_COLUMNS = sizeof(lock_columns) / sizeof(lock_columns[0]),
    QUEUE_COLUMNS = sizeof(queue_columns) / sizeof(queue_columns[0]),
};

static enum text_style state_style(const struct view *view)
{
    if (view->unread)
        return TEXT_BAD;
    return view->state == VIEW_HELD ? TEXT_BUSY : view->state == VIEW_FREE ? TEXT_GOOD : TEXT_BAD;
}

static char *clean_name(const struct list *list, const struct view *view)
{
    char *name = list_name(list->options, view->path);
    char *clean = text_clean(name);

    free(name);
    return clean;
}

static char *span_since(int64_t since_ms)
{
    char span[CLOCK_FORMAT_SIZE];

    return xstrdup(since_ms ? clock_short(text_now() - since_ms, span) : "");
}

/* Returns "last success 5m03s ago", to be freed; "" if none is known. */
static char *success_text(const struct view *view)
{
    char span[CLOCK_FORMAT_SIZE];

    if (!view->success_ms)
        return xstrdup("");
    return xasprintf("last success %s ago", clock_short(text_now() - view->success_ms, span));
}

/* Returns the first holder, or what to say if nobody holds it. */
static char *holder_text(const struct view *view)
{
    char until[TEXT_TIME_SIZE];

    if (view->unread)
        return xasprintf("(unknown: %s)", fault_text(view->unread_rc));
    if (view->state == VIEW_SETTLING && view->until_ms)
        return xasprintf("until %s", text_clock(view->until_ms, until));
    if (view->state != VIEW_HELD)
        return view->vanished ? xasprintf("%" PRIu32 " vanished", view->vanished)
               : !view->is_lock && !view->used && !view->success_ms ? xstrdup("(never used)")
                                                                    : success_text(view);
    return describe_who(&view->contenders[0]);
}

static void set_lock(struct table_cell *row, const struct list *list, const struct view *view)
{
    bool held = !view->unread && view->state == VIEW_HELD;
    const struct table_cell cells[LOCK_COLUMNS] = {
        {.text = clean_name(list, view)},
        {.text = xstrdup(describe_state(view, "?")), .style = state_style(view)},
        {.text = describe_kind(view)},
        {.text = holder_text(view), .style = held ? TEXT_PLAIN : TEXT_DIM},
        {.text = held ? describe_pid(&view->contenders[0]) : xstrdup("")},
        {.text = held ? span_since(view->contenders[0].since_ms) : xstrdup("")},
        {.text = view->unread ? xstrdup("") : xasprintf("%zu", view->len - view->holders)},
        {.text = held ? describe_command(&view->contenders[0]) : xstrdup("")},
    };

    memcpy(row, cells, sizeof(cells));
}

static void print_locks(const struct list *list, const struct view *views, size_t count,
                        const struct table_output *out)
{
    struct table_cell *cells = xcalloc(count * LOCK_COLUMNS, sizeof(cells[0]));

    for (size_t i = 0; i < count; i++)
        set_lock(cells + i * LOCK_COLUMNS, list, &views[i]);
    table_print(lock_columns, LOCK_COLUMNS, cells, count, out);
}

/* ---- one lock ---- */

/* Shows the session too of a client that does not tell who it is: there is room for it here. */
static char *contender_text(const struct view_contender *contender)
{
    if (contender->told.address[0] && contender->session)
        return xasprintf("%s session 0x%" PRIx64, contender->told.address, contender->session);
    return describe_who(contender);
}

static void set_contender(struct table_cell *row, const struct view *view, size_t index)
{
    const struct view_contender *contender = &view->contenders[index];
    char *place = contender->holds      ? xstrdup("holds")
                  : contender->until_ms ? xstrdup("next")
                                        : xasprintf("%zu", index - view->holders + 1);
    const struct table_cell cells[QUEUE_COLUMNS] = {
        {.text = place, .style = contender->holds ? TEXT_BUSY : TEXT_PLAIN},
        {.text = contender_text(contender)},
        {.text = describe_pid(contender)},
        {.text = xstrdup(describe_kind_word(contender->kind))},
        {.text = span_since(contender->since_ms)},
        {.text = describe_command(contender)},
    };

    memcpy(row, cells, sizeof(cells));
}

/* Returns "held, exclusive", or what else to say of the lock's state. */
static char *state_sentence(const struct view *view)
{
    char until[TEXT_TIME_SIZE];
    char span[CLOCK_FORMAT_SIZE];
    char *kind;
    char *text;

    if (view->unread)
        return xasprintf("unknown: %s", fault_text(view->unread_rc));
    if (!view_knows_vanished(view))
        return xstrdup("free, earlier holders are not known");
    if (!view->is_lock)
        return xstrdup(view->exists ? "free, and never used as a lock" : "free, and never used");
    if (view->state == VIEW_SETTLING && !view->until_ms)
        return xstrdup("settling: the next one waits for a holder that vanished");
    if (view->state == VIEW_SETTLING)
        return xasprintf("settling: the next one waits for a holder that vanished, until %s (%s)",
                         text_clock(view->until_ms, until),
                         clock_short(view->until_ms - text_now(), span));
    if (view_next_waits(view, 0) && view->lease_ms && view->state == VIEW_FREE)
        return xasprintf("free, but a holder vanished: the next one waits %s",
                         clock_format(view->lease_ms * CLOCK_MS, span));
    kind = describe_kind(view);
    text = xasprintf("%s%s%s", describe_state(view, "?"), *kind ? ", " : "", kind);
    free(kind);
    return text;
}

void list_print_line(const struct table_output *out, const char *clean, enum text_style style)
{
    char *cut = text_cut(clean, out->width ? out->width : SIZE_MAX);

    text_put(out->to, cut, style, out->colours);
    putc('\n', out->to);
    free(cut);
}

static void print_head(const struct list *list, const struct view *view,
                       const struct table_output *out)
{
    char span[CLOCK_FORMAT_SIZE];
    char *name = clean_name(list, view);
    char *path = text_clean(view->path);
    char *state = state_sentence(view);
    char *success = success_text(view);

    if (strcmp(name, path) != 0)
        xreplace(&name, xasprintf("%s (%s)", name, path));
    if (view->len)
        xreplace(&state, xasprintf("%s, %zu waiting", state, view->len - view->holders));
    if (view->lease_ms)
        xreplace(&state,
                 xasprintf("%s, lease %s", state, clock_format(view->lease_ms * CLOCK_MS, span)));
    if (view->success_ms)
        xreplace(&state, xasprintf("%s, %s", state, success));
    /* Perhaps that is another ensemble than the user thinks of. */
    if (!view->exists && !view->unread) {
        char *servers = text_clean(servers_text(list->options->servers));

        xreplace(&state, xasprintf("%s at %s", state, servers));
        free(servers);
    }
    list_print_line(out, name, TEXT_BOLD);
    list_print_line(out, state, state_style(view));
    free(name);
    free(path);
    free(state);
    free(success);
}

static void print_queue(const struct list *list, const struct view *view,
                        const struct table_output *out)
{
    struct table_cell *cells;

    print_head(list, view, out);
    if (!view->len)
        return;
    cells = xcalloc(view->len * QUEUE_COLUMNS, sizeof(cells[0]));
    for (size_t i = 0; i < view->len; i++)
        set_contender(cells + i * QUEUE_COLUMNS, view, i);
    putc('\n', out->to);
    table_print(queue_columns, QUEUE_COLUMNS, cells, view->len, out);
}

void list_print(const struct list *list, const struct view *views, size_t count,
                const struct table_output *out)
{
    if (count && list->one && strcmp(views[0].path, list->one) == 0) {
        print_queue(list, views, out);
        views++;
        count--;
        if (count)
            putc('\n', out->to);
    }
    if (count)
        print_locks(list, views, count, out);
}
