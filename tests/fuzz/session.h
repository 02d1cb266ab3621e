/*
 * The session of ensemble/session.h at the ensemble of ensemble.h, in the place of the program's:
 * requests are carried out, answered and lost when the target says so.  Like the other one it
 * answers in order, and a watch fires before the answer that shows why.
 */
#ifndef FUZZ_SESSION_H
#define FUZZ_SESSION_H

#include "ensemble/session.h"

#include "acl_text.h"
#include "base/xalloc.h"
#include "ensemble.h"
#include "ensemble/contact.h"

enum { PARTS_MAX = 510, NAMES_MAX = ZNODES_MAX, QUEUE_MAX = 1024 };

struct request {
    int tag;
    int64_t sent;
    int type;
    struct ask *parts;
    size_t count;
    const char *acl; /* of a create: as acl_text() prints it */
};

/* What the owner has not taken yet, with the request that it answers. */
struct news {
    struct session_event event;
    struct request request;
    char *names[NAMES_MAX];
};

struct session {
    int64_t id;
    int64_t next_id;
    unsigned int generation;
    bool connected;   /* as the owner knows it */
    bool linked;      /* as it is */
    bool established; /* there was contact in this generation */
    bool expired;     /* at the ensemble, which the owner may not know */
    struct request queue[QUEUE_MAX];
    size_t begin, end;
    struct news *news[QUEUE_MAX];
    size_t news_begin, news_end;
    struct news *current;
    struct watch fired[WATCHES_MAX]; /* without contact: told of when there is contact again */
    int fired_types[WATCHES_MAX];
    size_t fired_len;
    bool has_credentials;
    unsigned int told; /* shifts what is told of a znode's ACL, see acl_of() */
};

static struct session session;
static int64_t session_now; /* ns; what clock_now() returns */

/* Called for each request as it is made. */
static void session_asked(const struct request *request);

int64_t __wrap_clock_now(void);
int64_t __wrap_clock_now(void)
{
    return session_now;
}

static struct news *news_add(enum session_event_type type)
{
    struct news *news = calloc(1, sizeof(*news));

    if (session.news_begin == session.news_end)
        session.news_begin = session.news_end = 0;
    if (!news || session.news_end == QUEUE_MAX)
        abort();
    news->event.type = type;
    session.news[session.news_end++] = news;
    return news;
}

static void ensemble_fired(const char *path, int type)
{
    struct news *news;

    if (!session.linked && session.fired_len < WATCHES_MAX) {
        session.fired_types[session.fired_len] = type;
        session.fired[session.fired_len++].path = path;
        return;
    }
    news = news_add(SESSION_WATCH);
    news->event.path = path;
    news->event.watch_type = type;
}

static struct ACL acl_open[] = {{31, {(char[]){"world"}, (char[]){"anyone"}}}};
static struct ACL acl_whole[] = {
    {31, {(char[]){"digest"}, (char[]){"anna:AbCdEfGhIjKlMnOpQrStUvWxYz0="}}},
    {1, {(char[]){"world"}, (char[]){"anyone"}}},
};
static struct ACL acl_masked[] = {{31, {(char[]){"digest"}, (char[]){"anna:x"}}}};

static const struct ACL_vector acls[] = {{1, acl_open}, {2, acl_whole}, {1, acl_masked}};

/* ---- what the owner asks ---- */

static void ask(int tag, int type, const struct ask *parts, size_t count, const char *acl)
{
    struct request *request;

    if (session.begin == session.end)
        session.begin = session.end = 0;
    request = &session.queue[session.end++];
    if (session.end == QUEUE_MAX)
        abort(); /* no input is so long */
    *request =
        (struct request){.tag = tag, .sent = session_now, .type = type, .count = count, .acl = acl};
    request->parts = calloc(count, sizeof(parts[0]));
    for (size_t i = 0; i < count; i++) {
        request->parts[i] = parts[i];
        request->parts[i].path = ensemble_copy(parts[i].path);
        request->parts[i].data = ensemble_copy(parts[i].data);
    }
    session_asked(request);
}

static void ask_one(int tag, int type, const char *path, const char *data, int number, bool watch)
{
    ask(tag, type, &(struct ask){type, path, data, number, watch}, 1, NULL);
}

void session_create(struct session *s, int tag, const char *path, const char *data, int mode,
                    const struct ACL_vector *acl)
{
    (void)s;
    ask(tag, ZOO_CREATE_OP, &(struct ask){ZOO_CREATE_OP, path, data, mode, false}, 1,
        ensemble_keep(acl_text(acl)));
}

void session_get(struct session *s, int tag, const char *path, enum session_watch watch)
{
    (void)s;
    ask_one(tag, ZOO_GETDATA_OP, path, NULL, -1, watch == SESSION_SET_WATCH);
}

void session_get_children(struct session *s, int tag, const char *path, enum session_watch watch)
{
    (void)s;
    ask_one(tag, ZOO_GETCHILDREN2_OP, path, NULL, -1, watch == SESSION_SET_WATCH);
}

void session_get_acl(struct session *s, int tag, const char *path)
{
    MUST(s->has_credentials);
    ask_one(tag, ZOO_GETACL_OP, path, NULL, -1, false);
}

void session_exists(struct session *s, int tag, const char *path)
{
    (void)s;
    ask_one(tag, ZOO_EXISTS_OP, path, NULL, -1, false);
}

void session_set(struct session *s, int tag, const char *path, const char *data, int32_t version)
{
    (void)s;
    ask_one(tag, ZOO_SETDATA_OP, path, data, version, false);
}

void session_delete(struct session *s, int tag, const char *path)
{
    (void)s;
    ask_one(tag, ZOO_DELETE_OP, path, NULL, -1, false);
}

void session_sync(struct session *s, int tag, const char *path)
{
    (void)s;
    ask_one(tag, ZOO_SYNC_OP, path, NULL, -1, false);
}

static void lose(struct request *request, int rc);

void session_multi(struct session *s, int tag, zoo_op_t *ops, int count)
{
    static struct ask parts[PARTS_MAX];

    (void)s;
    MUST(count > 0 && count <= PARTS_MAX);
    for (int i = 0; i < count; i++) {
        parts[i] = (struct ask){.type = ops[i].type};
        if (ops[i].type == ZOO_SETDATA_OP) {
            parts[i].path = ops[i].set_op.path;
            parts[i].number = ops[i].set_op.version;
            MUST(strlen(ops[i].set_op.data) == (size_t)ops[i].set_op.datalen);
            parts[i].data = ops[i].set_op.data;
        } else if (ops[i].type == ZOO_DELETE_OP) {
            parts[i].path = ops[i].delete_op.path;
            parts[i].number = ops[i].delete_op.version;
        } else {
            parts[i].path = ops[i].check_op.path;
            parts[i].number = ops[i].check_op.version;
        }
    }
    ask(tag, ZOO_MULTI_OP, parts, (size_t)count, NULL);
    if (session.linked)
        return;
    session.connected = false;
    lose(&session.queue[--session.end], ZCONNECTIONLOSS);
}

bool session_connected(const struct session *s)
{
    return s->connected;
}

bool session_has_credentials(const struct session *s)
{
    return s->has_credentials;
}

const struct ACL_vector *session_acl(const struct session *s)
{
    (void)s;
    return &acls[0];
}

int64_t session_id(const struct session *s)
{
    return s->id;
}

unsigned int session_generation(const struct session *s)
{
    return s->generation;
}

bool session_rc_unknown(int rc)
{
    return rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT || rc == ZSESSIONEXPIRED ||
           rc == ZCLOSING || rc == ZINVALIDSTATE || rc == ZSESSIONMOVED ||
           rc == ZRUNTIMEINCONSISTENCY || rc == ZTHROTTLEDOP;
}

char *contact_no_chroot(const struct session *s)
{
    (void)s;
    return xstrdup("the chroot does not exist");
}

/* ---- what becomes of requests ---- */

/* Takes the request over, and answers it. */
static struct news *answer(struct request *request, int rc)
{
    struct news *news = news_add(SESSION_REPLY);

    news->request = *request;
    news->event.tag = request->tag;
    news->event.sent = request->sent;
    news->event.rc = rc;
    request->parts = NULL;
    return news;
}

static void lose(struct request *request, int rc)
{
    answer(request, rc);
}

static void list(const char *path, struct news *news)
{
    for (size_t i = 0; i < ensemble.len; i++)
        if (is_child(&ensemble.znodes[i], path))
            news->names[news->event.children_len++] =
                (char *)strrchr(ensemble.znodes[i].path, '/') + 1;
    news->event.children = news->names;
}

/* What the ensemble tells of a znode's ACL; a znode that is made anew has another one. */
static const struct ACL_vector *acl_of(const struct znode *znode)
{
    return &acls[(session.told + (unsigned int)znode->stat.czxid) %
                 (sizeof(acls) / sizeof(acls[0]))];
}

static int read_znode(const struct request *request, struct news *news)
{
    const struct ask *part = &request->parts[0];
    const struct znode *znode = ensemble_find(part->path);

    if (request->type == ZOO_SYNC_OP)
        return ZOK;
    if (!znode)
        return ZNONODE;
    news->event.stat = znode->stat;
    if (request->type == ZOO_GETACL_OP) {
        news->event.acl = acl_of(znode);
    } else if (request->type == ZOO_GETDATA_OP) {
        news->event.data = znode->data;
        news->event.data_len = strlen(znode->data);
    } else if (request->type == ZOO_GETCHILDREN2_OP) {
        list(part->path, news);
    }
    if (part->watch)
        set_watch(part->path, request->type == ZOO_GETCHILDREN2_OP);
    return ZOK;
}

static bool is_write(int type)
{
    return type == ZOO_CREATE_OP || type == ZOO_SETDATA_OP || type == ZOO_DELETE_OP ||
           type == ZOO_MULTI_OP;
}

/* Carries out the oldest request, whose answer may be lost: then there is none. */
static struct news *session_serve(bool lost)
{
    struct request request = session.queue[session.begin++];
    struct news scratch = {0};
    struct news *news;
    const char *path = NULL;
    size_t failed = 0;

    if (is_write(request.type)) {
        scratch.event.rc = ensemble_write(request.parts, request.count, session.id, &failed, &path);
        for (size_t i = 0; scratch.event.rc == ZOK && i < request.count; i++) {
            const struct ask *part = &request.parts[i];
            struct znode *znode = ensemble_find(part->type == ZOO_CREATE_OP ? path : part->path);

            if ((part->type == ZOO_CREATE_OP || part->type == ZOO_SETDATA_OP) && znode)
                scratch.event.stat = znode->stat;
            if (part->type == ZOO_CREATE_OP && znode)
                znode->acl = request.acl;
        }
        scratch.event.path = scratch.event.rc == ZOK ? path : NULL;
        scratch.event.failed_op = (int)failed;
    } else {
        scratch.event.rc = read_znode(&request, &scratch);
    }
    news = answer(&request, lost ? ZCONNECTIONLOSS : scratch.event.rc);
    if (lost)
        return news;
    news->event.stat = scratch.event.stat;
    news->event.path = scratch.event.path;
    news->event.failed_op = scratch.event.failed_op;
    news->event.data = scratch.event.data;
    news->event.data_len = scratch.event.data_len;
    memcpy(news->names, scratch.names, sizeof(news->names));
    news->event.children = news->names;
    news->event.children_len = scratch.event.children_len;
    news->event.acl = scratch.event.acl;
    return news;
}

static void lose_all(int rc)
{
    while (session.begin < session.end)
        lose(&session.queue[session.begin++], rc);
}

/* Loses contact; the ensemble carries out so many of the requests under way all the same. */
static void session_unlink(size_t carried_out)
{
    if (!session.linked)
        return;
    session.linked = false;
    news_add(SESSION_DISCONNECTED);
    while (carried_out-- > 0 && session.begin < session.end)
        session_serve(true);
    lose_all(ZCONNECTIONLOSS);
}

static void session_link(void)
{
    if (session.linked)
        return;
    if (session.expired) {
        news_add(SESSION_EXPIRED);
        lose_all(ZSESSIONEXPIRED);
        return;
    }
    if (!session.established)
        session.id = ++session.next_id;
    session.established = true;
    session.linked = true;
    news_add(SESSION_CONNECTED);
    for (size_t i = 0; i < session.fired_len; i++)
        ensemble_fired(session.fired[i].path, session.fired_types[i]);
    session.fired_len = 0;
}

/* The ensemble ends the session; who has contact hears of it at once. */
static void session_expire(void)
{
    if (!session.established || session.expired)
        return;
    session.expired = true;
    ensemble_expire(session.id);
    if (session.linked) {
        session.linked = false;
        news_add(SESSION_EXPIRED);
        lose_all(ZSESSIONEXPIRED);
    }
}

/*
 * Gives an attempt to connect up.  A session that the library may have made meanwhile is another
 * one than the next, and has carried out so many requests.
 */
static void session_attempt(size_t carried_out)
{
    if (session.established)
        return;
    session.id = ++session.next_id;
    while (carried_out-- > 0 && session.begin < session.end) {
        session_serve(true);
        session.news[session.news_end - 1]->event.rc = ZSESSIONEXPIRED;
    }
    lose_all(ZSESSIONEXPIRED);
    session.id = 0;
}

static void news_free(struct news *news)
{
    if (news)
        free(news->request.parts);
    free(news);
}

static void drop_all(void)
{
    while (session.begin < session.end)
        free(session.queue[session.begin++].parts);
    while (session.news_begin < session.news_end)
        news_free(session.news[session.news_begin++]);
    session.fired_len = 0;
    session.begin = session.end = session.news_begin = session.news_end = 0;
    ensemble.watches_len = 0;
}

void session_reopen(struct session *s)
{
    drop_all();
    s->generation++;
    if (s->established && !s->expired)
        ensemble_expire(s->id); /* closed by the client */
    s->id = 0;
    s->connected = s->linked = s->established = s->expired = false;
}

/* The owner knows it at once; the event of it follows. */
void session_turn(struct session *s)
{
    s->connected = false;
    session_unlink(0);
}

/* Returns the next event, or NULL; it lives until the next call. */
static const struct news *session_take(void)
{
    news_free(session.current);
    session.current = NULL;
    if (session.news_begin == session.news_end)
        return NULL;
    session.current = session.news[session.news_begin++];
    if (session.current->event.type == SESSION_CONNECTED)
        session.connected = true;
    else if (session.current->event.type == SESSION_DISCONNECTED ||
             session.current->event.type == SESSION_EXPIRED)
        session.connected = false;
    return session.current;
}

static void session_end(void)
{
    drop_all();
    news_free(session.current);
    memset(&session, 0, sizeof(session));
}

#endif
