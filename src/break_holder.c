#include <stdlib.h>
#include <string.h>

#include "break_state.h"
#include "clock.h"
#include "exitcode.h"
#include "revocation.h"

static int tag_of(const struct visit *visit, const struct holder *holder)
{
    return (int)(holder - visit->holders);
}

static void read_it(struct visit *visit, struct holder *holder, enum stage stage)
{
    holder->stage = stage;
    holder->again = false;
    session_get(visit->admin.session, tag_of(visit, holder), holder->shown->path,
                stage == WATCHING ? SESSION_SET_WATCH : SESSION_NO_WATCH);
}

void break_holder_begin(struct visit *visit, struct holder *holder)
{
    read_it(visit, holder, READING);
}

/*
 * A name may be taken by another znode between this and the read before only where it carries no
 * GUID, and then it hardly has the same version.
 */
static void act(struct visit *visit, struct holder *holder, const struct session_event *event)
{
    struct session *session = visit->admin.session;
    const char *path = holder->shown->path;

    holder->stage = ACTING;
    if (visit->by_force) {
        zoo_op_t op;

        zoo_delete_op_init(&op, path, event->stat.version);
        session_multi(session, tag_of(visit, holder), &op, 1);
    } else {
        char *text = revocation_encode(event->data, event->data_len);

        session_set(session, tag_of(visit, holder), path, text, event->stat.version);
        free(text);
    }
}

static void tell_gone(const struct visit *visit, const struct holder *holder)
{
    const char *lock = visit->options->lock;
    char span[CLOCK_FORMAT_SIZE];

    if (!holder->hit)
        log_notice("%s was given up before, by %s", lock, holder->who);
    else if (visit->by_force)
        log_notice("%s was taken away from %s", lock, holder->who);
    else
        log_notice("%s was given up after %s, by %s", lock,
                   clock_format(clock_now() - visit->began, span), holder->who);
}

static void is_gone(const struct visit *visit, struct holder *holder)
{
    holder->stage = DONE;
    tell_gone(visit, holder);
}

static void has_acted(struct visit *visit, struct holder *holder)
{
    holder->hit = true;
    if (visit->by_force) {
        is_gone(visit, holder);
    } else if (options_asked_wait(visit->options, CLOCK_NEVER) == 0) {
        log_notice("asked to give %s up: %s", visit->options->lock, holder->who);
        holder->stage = DONE;
    } else {
        log_info("asked to give %s up: %s", visit->options->lock, holder->who);
        read_it(visit, holder, WATCHING);
    }
}

static bool refused(struct visit *visit, const struct holder *holder, int rc)
{
    const char *what = visit->by_force ? "delete" : "write to";

    if (rc == ZNOAUTH)
        log_error("not permitted to %s %s", what, holder->shown->path);
    else
        log_error("cannot %s %s: %s", what, holder->shown->path, zerror(rc));
    visit->status = rc == ZNOAUTH ? EXITCODE_NOPERM : EXITCODE_INTERNAL;
    return false;
}

/* Returns whether to go on. */
static bool take_reply(struct visit *visit, const struct session_event *event)
{
    struct holder *holder = &visit->holders[event->tag];
    bool was_read = holder->stage != ACTING;

    if (session_rc_unknown(event->rc)) {
        holder->again = true;
        holder->hit |= visit->by_force && !was_read; /* perhaps: it is told if it is gone */
        return true;
    }
    if (event->rc == ZNONODE ||
        (event->rc == ZOK && was_read && event->stat.czxid != holder->shown->czxid))
        is_gone(visit, holder);
    else if (event->rc == ZBADVERSION)
        read_it(visit, holder, READING);
    else if (event->rc != ZOK)
        return refused(visit, holder, event->rc);
    else if (holder->stage == READING)
        act(visit, holder, event);
    else if (holder->stage == ACTING)
        has_acted(visit, holder);
    else
        holder->stage = AWAITED;
    return true;
}

static void take_watch(struct visit *visit, const struct session_event *event)
{
    for (size_t i = 0; i < visit->len; i++) {
        struct holder *holder = &visit->holders[i];

        if (holder->stage == AWAITED && strcmp(holder->shown->path, event->path) == 0)
            read_it(visit, holder, WATCHING);
    }
}

/* With a new session watches are gone too. */
static void take_up_again(struct visit *visit, bool all)
{
    for (size_t i = 0; i < visit->len; i++) {
        struct holder *holder = &visit->holders[i];

        if (holder->stage != DONE && (all || holder->again))
            read_it(visit, holder, holder->hit && !visit->by_force ? WATCHING : READING);
    }
}

bool break_holder_handle(struct visit *visit, const struct session_event *event)
{
    switch (event->type) {
    case SESSION_CONNECTED:
        take_up_again(visit, false);
        break;
    case SESSION_DISCONNECTED:
        break;
    case SESSION_EXPIRED:
        session_reopen(visit->admin.session);
        take_up_again(visit, true);
        break;
    case SESSION_WATCH:
        take_watch(visit, event);
        break;
    case SESSION_REPLY:
        return take_reply(visit, event);
    }
    return true;
}
