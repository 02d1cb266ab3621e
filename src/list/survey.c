#include "list/survey.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "ensemble/znode.h"
#include "list/survey_state.h"
#include "lock/note.h"

/* ---- asking ---- */

/* So many requests are under way at once: signals are taken between them. */
enum { PENDING_MAX = 1000 };

static void owe(struct survey *survey, struct znode *znode, enum ask what)
{
    survey->owed += !znode->owed[what];
    znode->owed[what] = true;
}

static void ask(struct survey *survey, struct znode *znode, enum ask what)
{
    int tag = (int)(znode->slot * ASKS) + (int)what;

    if (survey->pending >= PENDING_MAX) {
        owe(survey, znode, what);
        return;
    }
    survey->owed -= znode->owed[what];
    znode->owed[what] = false;
    znode->pending++;
    survey->pending++;
    if (what == ASK_LIST)
        session_get_children(survey->session, tag, znode->path, survey->watch);
    else if (what == ASK_GET)
        session_get(survey->session, tag, znode->path, survey->watch);
    else
        session_await(survey->session, tag, znode->path);
}

/* Asks in this order, so that the lock's data is not older than the list. */
static void ask_all(struct survey *survey, struct znode *znode)
{
    if (!survey_is_leaf(znode))
        ask(survey, znode, ASK_LIST);
    if (!znode->contender || znode->depth != SURVEY_NAMES)
        ask(survey, znode, ASK_GET);
}

/* Asks for what is owed, in the order of the slots. */
static void ask_more(struct survey *survey)
{
    while (survey->owed && survey->pending < PENDING_MAX) {
        struct znode *znode;

        survey->slot_owed = survey->slot_owed < survey->slots_len ? survey->slot_owed : 0;
        znode = survey->slots[survey->slot_owed++];
        for (int what = 0; znode && what < ASKS; what++)
            if (znode->owed[what])
                ask(survey, znode, (enum ask)what);
    }
}

/* ---- answers ---- */

static void forget(struct survey *survey, struct znode *znode)
{
    tree_set_children(survey, znode, NULL, 0, NULL);
    znode->data_len = 0;
    free(znode->told);
    znode->told = NULL;
}

/* Watches for a root to be made; other znodes show in their parents' lists. */
static void is_gone(struct survey *survey, struct znode *znode)
{
    forget(survey, znode);
    if (!znode->parent && survey->watch == SESSION_SET_WATCH)
        ask(survey, znode, ASK_AWAIT);
}

static bool take_list(struct survey *survey, struct znode *znode, const struct session_event *event)
{
    bool changed = znode->list_rc != event->rc;

    znode->list_rc = event->rc;
    if (event->rc == ZNONODE)
        is_gone(survey, znode);
    if (event->rc != ZOK)
        return changed;
    znode->stat = event->stat;
    return tree_set_children(survey, znode, event->children, event->children_len, ask_all) ||
           changed;
}

static bool take_data(struct survey *survey, struct znode *znode, const struct session_event *event)
{
    size_t len = event->data_len;

    znode->get_rc = event->rc;
    if (event->rc == ZNONODE && znode->is_note)
        is_gone(survey, znode);
    else if (event->rc == ZNONODE)
        forget(survey, znode);
    if (event->rc != ZOK)
        return true;
    znode->stat = event->stat;
    znode->data_len = len;
    memcpy(znode->data, event->data, len < sizeof(znode->data) ? len : sizeof(znode->data));
    if (znode->contender) {
        if (!znode->told)
            znode->told = xcalloc(1, sizeof(*znode->told));
        contender_decode(event->data, len, znode->told);
    }
    return true;
}

static bool take_reply(struct survey *survey, const struct session_event *event)
{
    size_t slot = event->tag < 0 ? SIZE_MAX : (size_t)event->tag / ASKS;
    enum ask what = (enum ask)(event->tag % ASKS);
    struct znode *znode = slot < survey->slots_len ? survey->slots[slot] : NULL;
    bool changed = false;

    if (!znode || !znode->pending)
        return false;
    znode->pending--;
    survey->pending--;
    if (znode->dropped) {
        if (!znode->pending)
            tree_free(survey, znode);
        if (session_connected(survey->session))
            ask_more(survey);
        return true; /* it may have been the last answer to wait for */
    }
    if (session_rc_unknown(event->rc)) {
        owe(survey, znode, what);
    } else if (what == ASK_LIST) {
        changed = take_list(survey, znode, event);
    } else if (what == ASK_GET) {
        changed = take_data(survey, znode, event);
    } else if (event->rc == ZOK) {
        ask_all(survey, znode); /* it was made before the watch was set */
    }
    if (session_connected(survey->session))
        ask_more(survey);
    return changed;
}

static void take_watch(struct survey *survey, const struct session_event *event)
{
    for (size_t i = 0; i < survey->roots_len; i++) {
        struct znode *znode = tree_find(survey->roots[i], event->path);

        if (!znode)
            continue;
        if (event->watch_type == ZOO_CHILD_EVENT)
            ask(survey, znode, ASK_LIST);
        else if (event->watch_type == ZOO_CHANGED_EVENT)
            ask(survey, znode, ASK_GET);
        else
            ask_all(survey, znode); /* made, or deleted and perhaps made again */
    }
}

/* ---- the session ---- */

/* The session expired: its watches are gone, and its requests will not be answered. */
static void start_over(struct survey *survey)
{
    session_reopen(survey->session);
    survey->pending = 0;
    for (size_t i = 0; i < survey->slots_len; i++) {
        struct znode *znode = survey->slots[i];

        if (!znode)
            continue;
        znode->pending = 0;
        tree_owe_nothing(survey, znode);
        if (znode->dropped)
            tree_free(survey, znode);
        else
            ask_all(survey, znode);
    }
}

bool survey_handle(struct survey *survey, const struct session_event *event)
{
    if (event->type == SESSION_REPLY)
        return take_reply(survey, event);
    if (event->type == SESSION_CONNECTED)
        ask_more(survey);
    else if (event->type == SESSION_EXPIRED)
        start_over(survey);
    else if (event->type == SESSION_WATCH)
        take_watch(survey, event);
    return false;
}

bool survey_complete(const struct survey *survey)
{
    return survey->pending == 0 && survey->owed == 0;
}

/* ---- begin and end ---- */

struct survey *survey_new(struct session *session, enum session_watch watch)
{
    struct survey *survey = xcalloc(1, sizeof(*survey));

    survey->session = session;
    survey->watch = watch;
    return survey;
}

static void add_root(struct survey *survey, const char *path, enum survey_depth depth,
                     enum survey_role role)
{
    struct znode *root = tree_new(survey, NULL, xstrdup(path), depth);

    root->role = role;
    survey->roots = xreallocarray(survey->roots, survey->roots_len + 1, sizeof(void *));
    survey->roots[survey->roots_len++] = root;
    ask_all(survey, root);
}

void survey_add(struct survey *survey, const char *path, enum survey_depth depth, bool by_name)
{
    char *above = znode_above(path);
    char *note = note_path(path);

    add_root(survey, path, depth, by_name ? ROLE_ASKED : ROLE_PLACE);
    if (by_name && depth != SURVEY_NAMES)
        add_root(survey, note, SURVEY_LOCK, ROLE_BESIDE);
    if (by_name && above[1] && recipe_is_semaphore_part(strrchr(path, '/') + 1))
        add_root(survey, above, SURVEY_LOCK, ROLE_BESIDE);
    free(above);
    free(note);
}

void survey_free(struct survey *survey)
{
    if (!survey)
        return;
    for (size_t i = 0; i < survey->slots_len; i++)
        if (survey->slots[i])
            tree_free(survey, survey->slots[i]);
    free(survey->roots);
    free(survey->slots);
    free(survey);
}

/* Refuses a part of a semaphore as LOCK: returns 0, or the exit status after a message. */
static int refuse_parts(const struct survey *survey)
{
    for (size_t i = 0; i < survey->roots_len; i++) {
        const struct znode *root = survey->roots[i];
        const struct znode *semaphore = survey_semaphore_around(survey, root);

        if (semaphore) {
            log_set_thread_lock(root->path);
            log_error("%s is a part of the semaphore %s; give that one as LOCK", root->path,
                      semaphore->path);
            log_set_thread_lock(NULL);
            return EXITCODE_USAGE;
        }
    }
    return 0;
}

int survey_read(struct survey *survey, struct admin *admin)
{
    int64_t patience = admin->options->connect_timeout;
    int64_t deadline = clock_add(clock_now(), patience);
    struct session_event event;

    while (!survey_complete(survey)) {
        int status = admin_await_event(admin, deadline, &event);

        if (status)
            return status;
        survey_handle(survey, &event);
        /* The limit is on silence: there may be much to read. */
        if (event.type == SESSION_REPLY && !session_rc_unknown(event.rc))
            deadline = clock_add(clock_now(), patience);
    }
    if (survey->cut)
        log_warning("only a part is read: there are more than %d znodes, or paths of more than %d "
                    "bytes; name the LOCK",
                    SURVEY_MAX, ZNODE_PATH_MAX);
    return refuse_parts(survey);
}

int survey_lock(struct admin *admin, const char *path, struct view *view)
{
    struct survey *survey = survey_new(admin->session, SESSION_NO_WATCH);
    int status;

    survey_add(survey, path, SURVEY_LOCK, true);
    status = survey_read(survey, admin);
    if (status == 0) {
        size_t count;
        struct view *views = survey_views(survey, &count);

        *view = views[0];
        free(views);
        status = survey_unread(view);
        if (status)
            view_release(view);
    }
    survey_free(survey);
    return status;
}

int survey_unread(const struct view *view)
{
    return view->unread ? admin_failed(view->unread_rc, "read", view->unread) : 0;
}
