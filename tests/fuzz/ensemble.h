/*
 * An ensemble in memory, for the target lock.c: znodes, their Stats and watches, as ZooKeeper has
 * them, without input or output.  All texts live until ensemble_end().
 */
#ifndef FUZZ_ENSEMBLE_H
#define FUZZ_ENSEMBLE_H

#include <zookeeper/zookeeper.h>

#include "fuzz.h"

enum { ZNODES_MAX = 64, WATCHES_MAX = 256 };

struct znode {
    const char *path;
    const char *data;
    const char
        *acl; /* that the client gave it, as acl_text() prints it; NULL: another one made it */
    struct Stat stat;
};

/* A request, or a part of one, as zoo_op_t has it. */
struct ask {
    int type; /* ZOO_CREATE_OP and so on */
    const char *path;
    const char *data;
    int number; /* create: the mode; else the version, or -1 */
    bool watch;
};

struct watch {
    const char *path;
    bool of_children;
};

static struct {
    struct znode znodes[ZNODES_MAX];
    size_t len;
    int64_t zxid;
    int64_t now; /* ms since the epoch */
    struct watch watches[WATCHES_MAX];
    size_t watches_len;
    char **texts;
    size_t texts_len;
    size_t texts_room;
} ensemble;

/* Called for each watch that fires. */
static void ensemble_fired(const char *path, int type);

/* Keeps a text that malloc(3) made. */
static const char *ensemble_keep(char *text)
{
    if (!text)
        abort();
    if (ensemble.texts_len == ensemble.texts_room) {
        ensemble.texts_room = ensemble.texts_room ? 2 * ensemble.texts_room : 256;
        ensemble.texts = realloc(ensemble.texts, ensemble.texts_room * sizeof(ensemble.texts[0]));
        if (!ensemble.texts)
            abort();
    }
    ensemble.texts[ensemble.texts_len++] = text;
    return text;
}

static const char *ensemble_copy(const char *text)
{
    return ensemble_keep(strdup(text ? text : ""));
}

static void ensemble_end(void)
{
    while (ensemble.texts_len > 0)
        free(ensemble.texts[--ensemble.texts_len]);
    free(ensemble.texts);
    memset(&ensemble, 0, sizeof(ensemble));
}

static struct znode *ensemble_find(const char *path)
{
    for (size_t i = 0; i < ensemble.len; i++)
        if (strcmp(ensemble.znodes[i].path, path) == 0)
            return &ensemble.znodes[i];
    return NULL;
}

static bool is_child(const struct znode *znode, const char *parent)
{
    size_t len = strlen(parent);

    return strncmp(znode->path, parent, len) == 0 && znode->path[len] == '/' &&
           !strchr(znode->path + len + 1, '/');
}

/* The znode that this path stands in; NULL: the root, or none. */
static struct znode *parent_of(const char *path)
{
    char *above = strndup(path, (size_t)(strrchr(path, '/') - path));
    struct znode *parent = ensemble_find(above);

    free(above);
    return parent;
}

static void fire(const char *path, bool of_children, int type)
{
    for (size_t i = 0; i < ensemble.watches_len;) {
        const struct watch *watch = &ensemble.watches[i];

        if (watch->of_children == of_children && strcmp(watch->path, path) == 0) {
            ensemble_fired(watch->path, type);
            ensemble.watches[i] = ensemble.watches[--ensemble.watches_len];
        } else {
            i++;
        }
    }
}

static void set_watch(const char *path, bool of_children)
{
    for (size_t i = 0; i < ensemble.watches_len; i++)
        if (ensemble.watches[i].of_children == of_children &&
            strcmp(ensemble.watches[i].path, path) == 0)
            return;
    if (ensemble.watches_len < WATCHES_MAX)
        ensemble.watches[ensemble.watches_len++] = (struct watch){path, of_children};
}

static void children_changed(const char *path, int by)
{
    struct znode *parent = parent_of(path);

    if (!parent)
        return;
    parent->stat.numChildren += by;
    parent->stat.cversion++;
    parent->stat.pzxid = ensemble.zxid;
}

/* Carries out one part of a transaction; returns what the server answers.  path: of a create. */
static int do_part(const struct ask *ask, int64_t session, const char **path)
{
    struct znode *znode = ensemble_find(ask->path);
    bool wrong_version = znode && ask->number != -1 && ask->number != znode->stat.version;
    bool sequential = ask->number == ZOO_EPHEMERAL_SEQUENTIAL;

    if (ask->type == ZOO_CREATE_OP) {
        struct znode *parent = parent_of(ask->path);
        char *name;

        if (!parent && strrchr(ask->path, '/') != ask->path)
            return ZNONODE;
        if (parent && parent->stat.ephemeralOwner)
            return ZNOCHILDRENFOREPHEMERALS;
        if (asprintf(&name, sequential ? "%s%010d" : "%s", ask->path,
                     parent ? (parent->stat.cversion + parent->stat.numChildren) / 2 : 0) < 0)
            abort();
        *path = ensemble_keep(name);
        if (ensemble_find(*path))
            return ZNODEEXISTS;
        if (ensemble.len == ZNODES_MAX)
            return ZSYSTEMERROR;
        ensemble.znodes[ensemble.len++] =
            (struct znode){.path = *path,
                           .data = ask->data,
                           .stat = {.czxid = ensemble.zxid,
                                    .mzxid = ensemble.zxid,
                                    .pzxid = ensemble.zxid,
                                    .ctime = ensemble.now,
                                    .mtime = ensemble.now,
                                    .ephemeralOwner = ask->number == ZOO_PERSISTENT ? 0 : session}};
        children_changed(*path, 1);
        return ZOK;
    }
    if (!znode)
        return ZNONODE;
    if (wrong_version)
        return ZBADVERSION;
    if (ask->type == ZOO_SETDATA_OP) {
        znode->data = ask->data;
        znode->stat.version++;
        znode->stat.mzxid = ensemble.zxid;
        znode->stat.mtime = ensemble.now;
    } else if (ask->type == ZOO_DELETE_OP) {
        const char *gone = znode->path;

        if (znode->stat.numChildren)
            return ZNOTEMPTY;
        *znode = ensemble.znodes[--ensemble.len];
        children_changed(gone, -1);
    }
    return ZOK;
}

static void tell(const struct ask *ask, const char *path)
{
    char *above;

    if (ask->type == ZOO_CHECK_OP)
        return;
    if (ask->type == ZOO_SETDATA_OP) {
        fire(path, false, ZOO_CHANGED_EVENT);
        return;
    }
    if (ask->type == ZOO_DELETE_OP) {
        fire(path, false, ZOO_DELETED_EVENT);
        fire(path, true, ZOO_DELETED_EVENT);
    }
    above = strndup(path, (size_t)(strrchr(path, '/') - path));
    fire(above, true, ZOO_CHILD_EVENT);
    free(above);
}

/*
 * Carries out a transaction: all parts or none.  Returns what the server answers; *failed is the
 * part that did not go, *path that of the last create.
 */
static int ensemble_write(const struct ask *parts, size_t count, int64_t session, size_t *failed,
                          const char **path)
{
    static struct znode before[ZNODES_MAX];
    size_t before_len = ensemble.len;

    memcpy(before, ensemble.znodes, before_len * sizeof(before[0]));
    ensemble.zxid++;
    for (size_t i = 0; i < count; i++) {
        int rc = do_part(&parts[i], session, path);

        if (rc == ZOK)
            continue;
        memcpy(ensemble.znodes, before, before_len * sizeof(before[0]));
        ensemble.len = before_len;
        *failed = i;
        return rc;
    }
    for (size_t i = 0; i < count; i++)
        tell(&parts[i], parts[i].type == ZOO_CREATE_OP ? *path : parts[i].path);
    return ZOK;
}

/* One write by somebody else, who may do anything. */
static int ensemble_do(int type, const char *path, const char *data, int number, int64_t session)
{
    const struct ask ask = {.type = type, .path = path, .data = data, .number = number};
    const char *made;
    size_t failed;

    return ensemble_write(&ask, 1, session, &failed, &made);
}

/* Ends a session: its znodes go. */
static void ensemble_expire(int64_t session)
{
    for (size_t i = 0; i < ensemble.len;) {
        if (ensemble.znodes[i].stat.ephemeralOwner == session) {
            ensemble_do(ZOO_DELETE_OP, ensemble.znodes[i].path, NULL, -1, 0);
            i = 0;
        } else {
            i++;
        }
    }
}

#endif
