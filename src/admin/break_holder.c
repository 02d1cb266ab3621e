#include <stdlib.h>
#include <string.h>

#include "admin/break_state.h"
#include "base/clock.h"
#include "lock/revocation.h"

/* The operations of the transaction. */
enum { OP_CHECK_PARENT, OP_ACT, OPS };

/* Two for each holder: for its own znode, and for reading the parent. */
static int tag_of(const struct visit *visit, const struct holder *holder)
{
    return 2 * (int)(holder - visit->holders);
}

static void read_it(struct visit *visit, struct holder *holder, enum stage stage)
{
    holder->stage = stage;
    holder->again = false;
    if (stage == READING)
        session_get(visit->admin.session, tag_of(visit, holder) + 1, holder->parent,
                    SESSION_NO_WATCH);
    session_get(visit->admin.session, tag_of(visit, holder), holder->shown->path,
                stage == WATCHING ? SESSION_SET_WATCH : SESSION_NO_WATCH);
}

/*
 * Checks the parent too: if the name carries no GUID, as an unfair holder's, the next holder's
 * znode may have the same name and version since the read.  But the holder that gave the lock back
 * has counted itself out in the parent.
 */
static void act(struct visit *visit, struct holder *holder, const struct session_event *event)
{
    const char *path = holder->shown->path;
    char *text = NULL;
    zoo_op_t ops[OPS];

    holder->stage = ACTING;
    zoo_check_op_init(&ops[OP_CHECK_PARENT], holder->parent, holder->parent_version);
    if (visit->by_force) {
        zoo_delete_op_init(&ops[OP_ACT], path, event->stat.version);
    } else {
        char by[CONTENDER_WHO_SIZE];

        /* An own text is there if its answer was lost. */
        holder->asked |= revocation_decode(event->data, event->data_len, by) &&
                         strcmp(by, contender_self()) != 0;
        text = revocation_encode(event->data, event->data_len, holder->shown->since_ms);
        zoo_set_op_init(&ops[OP_ACT], path, text, (int)strlen(text), event->stat.version, NULL);
    }
    session_multi(visit->admin.session, tag_of(visit, holder), ops, OPS);
    free(text);
}

static void is_gone(const struct visit *visit, struct holder *holder)
{
    holder->stage = DONE;
    holder->taken = holder->hit && visit->by_force;
    if (holder->taken)
        log_notice("%s was taken away from %s", visit->options->lock, holder->who);
    else
        holder->left_at = clock_now();
}

static void has_acted(struct visit *visit, struct holder *holder)
{
    holder->hit = true;
    if (holder->asked)
        log_warning("the holder of %s was asked before%s; --break takes the lock away: %s",
                    visit->options->lock,
                    describe_is_ours(holder->shown) ? ", which a zkflock passes on only once" : "",
                    holder->who);
    if (visit->by_force) {
        is_gone(visit, holder);
    } else if (options_asked_wait(visit->options, CLOCK_NEVER) == 0) {
        log_notice("asked the holder of %s to release it: %s", visit->options->lock, holder->who);
        holder->stage = DONE;
    } else {
        log_info("asked the holder of %s to release it: %s", visit->options->lock, holder->who);
        read_it(visit, holder, WATCHING);
    }
}

static void refused(struct visit *visit, struct holder *holder, const struct session_event *event)
{
    const char *path = holder->shown->path;
    const char *what;

    if (holder->stage != ACTING)
        what = "read";
    else if (event->failed_op == OP_CHECK_PARENT)
        what = "check", path = holder->parent;
    else
        what = visit->by_force ? "delete" : "write to";
    visit->status = admin_failed(event->rc, what, path);
    holder->stage = DONE;
}

static void take_reply(struct visit *visit, const struct session_event *event)
{
    struct holder *holder = &visit->holders[event->tag / 2];
    bool was_read = holder->stage != ACTING;

    if (event->tag % 2) { /* comes before its own znode's answer */
        holder->parent_version = event->rc == ZOK ? event->stat.version : -1;
        return;
    }
    if (session_rc_unknown(event->rc)) {
        holder->again = true;
        holder->hit |= visit->by_force && !was_read; /* perhaps: told so if it is gone */
        return;
    }
    if (event->rc == ZNONODE ||
        (event->rc == ZOK && was_read && event->stat.czxid != holder->shown->czxid))
        is_gone(visit, holder);
    else if (event->rc == ZBADVERSION)
        read_it(visit, holder, READING);
    else if (event->rc != ZOK)
        refused(visit, holder, event);
    else if (holder->stage == READING)
        act(visit, holder, event);
    else if (holder->stage == ACTING)
        has_acted(visit, holder);
    else
        holder->stage = AWAITED;
}

static void take_watch(struct visit *visit, const struct session_event *event)
{
    for (size_t i = 0; i < visit->len; i++) {
        struct holder *holder = &visit->holders[i];

        if (holder->stage == AWAITED && strcmp(holder->shown->path, event->path) == 0)
            read_it(visit, holder, WATCHING);
    }
}

void break_holder_read(struct visit *visit, bool all)
{
    for (size_t i = 0; i < visit->len; i++) {
        struct holder *holder = &visit->holders[i];

        if (holder->stage != DONE && (all || holder->again))
            read_it(visit, holder, holder->hit && !visit->by_force ? WATCHING : READING);
    }
}

void break_holder_handle(struct visit *visit, const struct session_event *event)
{
    if (event->type == SESSION_REPLY)
        take_reply(visit, event);
    if (event->type == SESSION_WATCH)
        take_watch(visit, event);
    if (event->type == SESSION_EXPIRED)
        session_reopen(visit->admin.session);
    if (event->type == SESSION_EXPIRED || event->type == SESSION_CONNECTED)
        break_holder_read(visit, event->type == SESSION_EXPIRED);
}
