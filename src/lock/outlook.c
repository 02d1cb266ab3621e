/*
 *   NONE -> LIST    outlook_look()
 *   LIST -> GET     the first of the list is read
 *        -> LIST    permits are left: the queue for turns is listed
 *        -> NONE    nobody is there, or the list was not to be had
 *   GET  -> NONE    known, or may not be read; or the first one went meanwhile, and what was known
 *                   before will do
 *        -> LIST    it went meanwhile, and nothing was known before
 */
#include "lock/outlook.h"

#include <stdio.h>
#include <string.h>

#include "base/xalloc.h"
#include "lock/contender.h"
#include "lock/recipe.h"

/* How often a look begins anew because the first one has gone: those in a fast queue do. */
#define MISSES_MAX 3

enum outlook_step { STEP_NONE, STEP_LIST, STEP_GET };

struct outlook {
    struct session *session;
    int tag;
    enum outlook_step step;
    unsigned int generation; /* of the session that the step under way asked */
    bool outdated;           /* what the step under way asked about is not what is wanted now */
    char *leases;            /* NULL: there are none to look at */
    size_t permits;          /* so many can be held there */
    bool at_leases;          /* the look under way, until permits are found to be left */
    bool next_room;          /* in the look under way they were */
    int misses;              /* so often the first one went in the look under way */
    char *path;
    char *node;
    char *first; /* path of the first contender, as listed last */

    bool known;
    bool refused;
    bool of_leases;
    bool room;
    size_t next_ahead; /* of the look under way */
    size_t ahead;
    bool hidden; /* the first one may not be read */
    char holder[CONTENDER_WHO_SIZE];
    char *persistent; /* path of the first one's znode if no session owns it, or NULL */
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

static void begin(struct outlook *outlook)
{
    outlook->next_room = false;
    list(outlook, outlook->leases != NULL);
}

void outlook_look(struct outlook *outlook, const char *leases, size_t permits, const char *path,
                  const char *node)
{
    if (!same(path, outlook->path) || !same(node, outlook->node)) {
        xreplace(&outlook->leases, leases ? xstrdup(leases) : NULL);
        outlook->permits = permits;
        xreplace(&outlook->path, xstrdup(path));
        xreplace(&outlook->node, node ? xstrdup(node) : NULL);
        outlook_forget(outlook);
    }
    /* What an earlier session was asked is never answered. */
    if (outlook->step != STEP_NONE && outlook->generation == session_generation(outlook->session))
        return;
    outlook->generation = session_generation(outlook->session);
    outlook->outdated = false;
    outlook->misses = 0;
    begin(outlook);
}

void outlook_forget(struct outlook *outlook)
{
    outlook->known = false;
    outlook->refused = false;
    outlook->outdated = outlook->step != STEP_NONE;
}

static void learn(struct outlook *outlook)
{
    outlook->step = STEP_NONE;
    outlook->of_leases = outlook->at_leases;
    outlook->room = outlook->next_room;
    outlook->ahead = outlook->next_ahead;
    outlook->known = true;
}

/* hidden: somebody is there who may not be read. */
static void learn_nobody(struct outlook *outlook, bool hidden)
{
    outlook->hidden = hidden;
    outlook->holder[0] = '\0';
    xreplace(&outlook->persistent, NULL);
    learn(outlook);
}

static void take_list(struct outlook *outlook, const struct session_event *event)
{
    bool is_own = outlook->node && !outlook->at_leases;
    const char *own = is_own ? strrchr(outlook->node, '/') + 1 : "";
    struct recipe_place place = recipe_place(event->children, event->children_len, own);
    const char *first = recipe_first(event->children, event->children_len);
    size_t contenders = recipe_contenders(event->children, event->children_len);

    if (outlook->at_leases && contenders < outlook->permits) {
        outlook->next_room = true;
        list(outlook, false);
        return;
    }
    outlook->next_ahead = place.found ? place.ahead : contenders;
    if (!first || strcmp(first, own) == 0) {
        learn_nobody(outlook, false);
        return;
    }
    xreplace(&outlook->first, xasprintf("%s/%s", looked_at(outlook), first));
    outlook->step = STEP_GET;
    session_get(outlook->session, outlook->tag, outlook->first, SESSION_NO_WATCH);
}

static const char *first_name(const struct outlook *outlook)
{
    return strrchr(outlook->first, '/') + 1;
}

static void name_holder(struct outlook *outlook, const struct session_event *event)
{
    char *holder = outlook->holder;

    if (outlook->persistent)
        snprintf(holder, CONTENDER_WHO_SIZE, "%s, a persistent znode", first_name(outlook));
    else if (!*contender_who(event->data, event->data_len, holder))
        snprintf(holder, CONTENDER_WHO_SIZE, "another client, session 0x%llx",
                 (unsigned long long)event->stat.ephemeralOwner);
}

static void take_first(struct outlook *outlook, const struct session_event *event)
{
    bool persistent = !recipe_is_ephemeral(event->stat.ephemeralOwner);
    struct contender told;

    outlook->hidden = false;
    xreplace(&outlook->persistent, persistent ? xstrdup(outlook->first) : NULL);
    name_holder(outlook, event);
    contender_decode(event->data, event->data_len, &told);
    outlook->settles = !persistent && told.terms.settling_ms > 0;
    outlook->shared = recipe_is_shared(first_name(outlook));
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
        outlook_look(outlook, outlook->leases, outlook->permits, outlook->path, outlook->node);
    } else if (event->rc == ZOK && step == STEP_LIST) {
        take_list(outlook, event);
    } else if (event->rc == ZNONODE && step == STEP_LIST && outlook->at_leases) {
        list(outlook, false);
    } else if (step == STEP_LIST) {
        outlook->refused = !session_rc_unknown(event->rc);
    } else if (event->rc == ZOK && step == STEP_GET) {
        take_first(outlook, event);
    } else if (event->rc != ZNONODE && !session_rc_unknown(event->rc)) {
        learn_nobody(outlook, true);
    } else if (event->rc == ZNONODE && !outlook->known && outlook->misses++ < MISSES_MAX) {
        begin(outlook);
    } else if (event->rc == ZNONODE && !outlook->known) {
        learn_nobody(outlook, false);
    }
}

bool outlook_known(const struct outlook *outlook)
{
    return outlook->known;
}

bool outlook_refused(const struct outlook *outlook)
{
    return outlook->refused;
}

bool outlook_is_of_leases(const struct outlook *outlook)
{
    return outlook->of_leases;
}

bool outlook_room(const struct outlook *outlook)
{
    return outlook->room;
}

size_t outlook_ahead(const struct outlook *outlook)
{
    return outlook->ahead;
}

const char *outlook_holder(const struct outlook *outlook)
{
    return outlook->holder;
}

const char *outlook_persistent(const struct outlook *outlook)
{
    return outlook->persistent;
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
    free(outlook->persistent);
    free(outlook);
}
