#include "base/clock.h"
#include "ensemble/session_state.h"

bool session_overloaded(const struct session *session)
{
    return session->overloaded_at && clock_now() < session->overloaded_at + SESSION_RECOVERED_AFTER;
}

/*
 * A flight of requests whose first one makes the others wait is refused as a whole by a server that
 * refuses what waits.  So once it has refused one, each request waits here for the answer to the
 * one before, and is made again until it is carried out.
 */
static void ask(struct session *session, int tag, const struct ask *what)
{
    struct item *item = request_new(session, tag);

    if (!session_overloaded(session) && session->waiting_len == 0) {
        request_hand_over(item, what);
        return;
    }
    item->ask = ask_copy(what);
    ask_set_waiting(item, true);
    ask_next(session);
}

void ask_next(struct session *session)
{
    struct item *item = session->oldest;

    while (item && request_is_companion(item))
        item = item->newer;
    if (session->resume_at || !item || !item->waiting)
        return;
    ask_set_waiting(item, false);
    item->handed_over = clock_now();
    request_hand_over(item, item->ask);
}

void session_create(struct session *session, int tag, const char *path, const char *data, int mode,
                    const struct ACL_vector *acl)
{
    ask(session, tag,
        &(struct ask){.what = ASK_CREATE, .path = path, .data = data, .number = mode, .acl = acl});
}

void session_get(struct session *session, int tag, const char *path, enum session_watch watch)
{
    ask(session, tag, &(struct ask){.what = ASK_GET, .path = path, .watch = watch});
}

void session_get_children(struct session *session, int tag, const char *path,
                          enum session_watch watch)
{
    ask(session, tag, &(struct ask){.what = ASK_CHILDREN, .path = path, .watch = watch});
}

void session_get_acl(struct session *session, int tag, const char *path)
{
    ask(session, tag, &(struct ask){.what = ASK_ACL, .path = path});
}

void session_exists(struct session *session, int tag, const char *path)
{
    ask(session, tag, &(struct ask){.what = ASK_EXISTS, .path = path});
}

void session_await(struct session *session, int tag, const char *path)
{
    ask(session, tag, &(struct ask){.what = ASK_EXISTS, .path = path, .watch = SESSION_SET_WATCH});
}

void session_set(struct session *session, int tag, const char *path, const char *data,
                 int32_t version)
{
    ask(session, tag,
        &(struct ask){.what = ASK_SET, .path = path, .data = data, .number = version});
}

void session_delete(struct session *session, int tag, const char *path)
{
    ask(session, tag, &(struct ask){.what = ASK_DELETE, .path = path});
}

void session_sync(struct session *session, int tag, const char *path)
{
    ask(session, tag, &(struct ask){.what = ASK_SYNC, .path = path});
}

void session_multi(struct session *session, int tag, zoo_op_t *ops, int count)
{
    ask(session, tag, &(struct ask){.what = ASK_MULTI, .ops = ops, .ops_len = count});
}
