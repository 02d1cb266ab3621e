/*
 *   NONE -> LIST    outlook_look()
 *   LIST -> GET     the first of the list is read
 *        -> LIST    nobody has a permit: the queue for turns is listed
 *        -> NONE    nobody is there, or the list was not to be had
 *   GET  -> NONE    known, or may not be read; or the first one went meanwhile, which the next look
 *                   will see
 */
#include "lock/outlook.h"

#include <stdio.h>
#include <string.h>

#include "base/xalloc.h"
#include "lock/contender.h"
#include "lock/recipe.h"

enum outlook_step { STEP_NONE, STEP_LIST, STEP_GET };

struct outlook {
    struct session *session;
    int tag;
    enum outlook_step step;
    unsigned int generation; /* of the session that the step under way asked */
    bool outdated;           /* what the step under way asked about is not what is wanted now */
    char *leases;            /* NULL: there are none to look at */
    bool at_leases;          /* the look under way, until nobody is found there */
    char *path;
    char *node;
    char *first; /* name of the first contender, as listed last */

    bool known;
    bool of_leases;
    size_t next_ahead; /* of the look under way */
    size_t ahead;
    bool hidden; /* the first one may not be read */
    char holder[CONTENDER_WHO_SIZE];
    bool settles;
    bool shared;
    int64_t held_since;
};

struct outlook *outlook_new(struct session *session, int tag)
{
    struct outlook *outlook = xcalloc(1, sizeof(*outlook));

    outlook->session = session;
    outlook->tag = tag;
    return outlook;
}

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static const char *looked_at(const struct outlook *outlook)
{
    return outlook->at_leases ? outlook->leases : outlook->path;
}

static void list(struct outlook *outlook, bool at_leases)
{
    outlook->step = STEP_LIST;
    outlook->at_leases = at_leases;
    session_get_children(outlook->session, outlook->tag, looked_at(outlook), SESSION_NO_WATCH);
}

void outlook_look(struct outlook *outlook, const char *leases, const char *path, const char *node)
{
    if (!same(path, outlook->path) || !same(node, outlook->node)) {
        xreplace(&outlook->leases, leases ? xstrdup(leases) : NULL);
        xreplace(&outlook->path, xstrdup(path));
        xreplace(&outlook->node, node ? xstrdup(node) : NULL);
        outlook->known = false;
        outlook->outdated = outlook->step != STEP_NONE;
    }
    /* What an earlier session was asked is never answered. */
    if (outlook->step != STEP_NONE && outlook->generation == session_generation(outlook->session))
        return;
    outlook->generation = session_generation(outlook->session);
    outlook->outdated = false;
    list(outlook, outlook->leases != NULL);
}

static void learn(struct outlook *outlook)
{
    outlook->step = STEP_NONE;
    outlook->of_leases = outlook->at_leases;
    outlook->ahead = outlook->next_ahead;
    outlook->known = true;
}

static void take_list(struct outlook *outlook, const struct session_event *event)
{
    bool is_own = outlook->node && !outlook->at_leases;
    const char *own = is_own ? strrchr(outlook->node, '/') + 1 : "";
    struct recipe_place place = recipe_place(event->children, event->children_len, own);
    const char *first = recipe_first(event->children, event->children_len);
    char *path;

    if (!first && outlook->at_leases) {
        list(outlook, false);
        return;
    }
    outlook->next_ahead =
        place.found ? place.ahead : recipe_contenders(event->children, event->children_len);
    if (!first || strcmp(first, own) == 0) {
        outlook->hidden = false;
        outlook->holder[0] = '\0';
        learn(outlook);
        return;
    }
    path = xasprintf("%s/%s", looked_at(outlook), first);
    xreplace(&outlook->first, xstrdup(first));
    outlook->step = STEP_GET;
    session_get(outlook->session, outlook->tag, path, SESSION_NO_WATCH);
    free(path);
}

static void name_holder(struct outlook *outlook, const struct session_event *event)
{
    char *holder = outlook->holder;

    if (event->stat.ephemeralOwner == 0)
        snprintf(holder, CONTENDER_WHO_SIZE, "%s, a persistent znode: --break frees the lock",
                 outlook->first);
    else if (!*contender_who(event->data, event->data_len, holder))
        snprintf(holder, CONTENDER_WHO_SIZE, "another client, session 0x%llx",
                 (unsigned long long)event->stat.ephemeralOwner);
}

static void take_first(struct outlook *outlook, const struct session_event *event)
{
    struct contender told;

    outlook->hidden = false;
    name_holder(outlook, event);
    contender_decode(event->data, event->data_len, &told);
    outlook->settles = told.terms.settling_ms > 0;
    outlook->shared = recipe_is_shared(outlook->first);
    outlook->held_since = contender_held_since(&told, event->stat.ctime, event->stat.mtime);
    learn(outlook);
}

void outlook_handle(struct outlook *outlook, const struct session_event *event)
{
    enum outlook_step step = outlook->step;

    /* Requests of a session that is over are never answered. */
    if (event->type == SESSION_EXPIRED)
        outlook->step = STEP_NONE;
    if (event->type != SESSION_REPLY || event->tag != outlook->tag)
        return;
    outlook->step = STEP_NONE;
    if (outlook->outdated) {
        outlook->outdated = false;
        outlook_look(outlook, outlook->leases, outlook->path, outlook->node);
    } else if (event->rc == ZOK && step == STEP_LIST) {
        take_list(outlook, event);
    } else if (event->rc == ZNONODE && step == STEP_LIST && outlook->at_leases) {
        list(outlook, false);
    } else if (event->rc == ZOK && step == STEP_GET) {
        take_first(outlook, event);
    } else if (event->rc == ZNOAUTH && step == STEP_GET) {
        outlook->holder[0] = '\0';
        outlook->hidden = true;
        learn(outlook);
    }
}

bool outlook_known(const struct outlook *outlook)
{
    return outlook->known;
}

bool outlook_is_of_leases(const struct outlook *outlook)
{
    return outlook->of_leases;
}

size_t outlook_ahead(const struct outlook *outlook)
{
    return outlook->ahead;
}

const char *outlook_holder(const struct outlook *outlook)
{
    return outlook->holder;
}

bool outlook_hidden(const struct outlook *outlook)
{
    return outlook->hidden;
}

bool outlook_settles(const struct outlook *outlook)
{
    return outlook->settles;
}

bool outlook_shared(const struct outlook *outlook)
{
    return outlook->shared;
}

int64_t outlook_held_since(const struct outlook *outlook)
{
    return outlook->held_since;
}

void outlook_free(struct outlook *outlook)
{
    if (!outlook)
        return;
    free(outlook->leases);
    free(outlook->path);
    free(outlook->node);
    free(outlook->first);
    free(outlook);
}
