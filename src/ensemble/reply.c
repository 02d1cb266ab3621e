#include "ensemble/reply.h"

#include <zookeeper/proto.h>
#include <zookeeper/zookeeper.h>

/* Numbers of replies that nobody asked for; zk_adaptor.h, which is not installed, has names. */
enum { XID_EVENT = -1, XID_PING = -2, XID_AUTH = -4, XID_SET_WATCHES = -8 };

enum {
    HEADER_LEN = 16, /* xid, zxid, error */
    STAT_LEN = 68,
    CONNECT_LEN = 36, /* version, timeout, session, password; read-only from 3.4 on */
    PASSWORD_LEN = 16,
};

/* What is left of a frame.  Once it was too short it stays so. */
struct rest {
    const unsigned char *bytes;
    size_t len;
    bool sound;
};

static void skip(struct rest *rest, size_t len)
{
    rest->sound = rest->sound && len <= rest->len;
    if (!rest->sound)
        return;
    rest->bytes += len;
    rest->len -= len;
}

static int32_t take_int(struct rest *rest)
{
    const unsigned char *at = rest->bytes;

    skip(rest, 4);
    if (!rest->sound)
        return 0;
    return (int32_t)((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]);
}

/* A string, or bytes: a length and as many of them; -1 is none at all. */
static void skip_string(struct rest *rest)
{
    int32_t len = take_int(rest);

    rest->sound = rest->sound && len >= -1;
    if (len > 0)
        skip(rest, (size_t)len);
}

static void skip_strings(struct rest *rest)
{
    int32_t count = take_int(rest);

    /* Each takes at least its length: so the count cannot be just any. */
    rest->sound = rest->sound && count >= -1 && (count < 0 || (size_t)count <= rest->len / 4);
    for (int32_t i = 0; i < count && rest->sound; i++)
        skip_string(rest);
}

/* A vector of permissions, each with a scheme and an ID. */
static void skip_acl(struct rest *rest)
{
    int32_t count = take_int(rest);

    rest->sound = rest->sound && count >= -1 && (count < 0 || (size_t)count <= rest->len / 12);
    for (int32_t i = 0; i < count && rest->sound; i++) {
        skip(rest, 4);
        skip_string(rest);
        skip_string(rest);
    }
}

/* What an operation answers when it was carried out. */
static void skip_result(struct rest *rest, int32_t type)
{
    switch (type) {
    case ZOO_CREATE_OP:
    case ZOO_SYNC_OP:
        skip_string(rest);
        break;
    case ZOO_CREATE2_OP:
        skip_string(rest);
        skip(rest, STAT_LEN);
        break;
    case ZOO_EXISTS_OP:
    case ZOO_SETDATA_OP:
        skip(rest, STAT_LEN);
        break;
    case ZOO_GETDATA_OP:
        skip_string(rest);
        skip(rest, STAT_LEN);
        break;
    case ZOO_GETCHILDREN_OP:
        skip_strings(rest);
        break;
    case ZOO_GETACL_OP:
        skip_acl(rest);
        skip(rest, STAT_LEN);
        break;
    case ZOO_GETCHILDREN2_OP:
        skip_strings(rest);
        skip(rest, STAT_LEN);
        break;
    default:
        break;
    }
}

/* The results of a multi: each a header that tells what follows, and one that ends them. */
static void skip_results(struct rest *rest)
{
    while (rest->sound) {
        int32_t type = take_int(rest);
        bool done = rest->sound && rest->bytes[0] != 0;

        skip(rest, 1);
        take_int(rest); /* the error, for once more */
        if (done || !rest->sound)
            return;
        if (type == -1)
            skip(rest, 4);
        else
            skip_result(rest, type);
    }
}

bool reply_is_connect(const unsigned char *frame, size_t len)
{
    struct rest rest = {
        .bytes = frame, .len = len, .sound = len == CONNECT_LEN || len == CONNECT_LEN + 1};

    skip(&rest, 4 + 4 + 8);
    return take_int(&rest) == PASSWORD_LEN && rest.sound;
}

bool reply_is_sound(const unsigned char *frame, size_t len, const struct reply_due *oldest,
                    bool *taken)
{
    struct rest rest = {.bytes = frame, .len = len, .sound = true};
    int32_t xid = take_int(&rest);
    int32_t error;

    skip(&rest, 8);
    error = take_int(&rest);
    *taken = false;
    if (!rest.sound)
        return false;
    if (xid == XID_PING || xid == XID_AUTH || xid == XID_SET_WATCHES)
        return true;
    if (xid == XID_EVENT) {
        skip(&rest, 4 + 4);
        skip_string(&rest);
        return rest.sound;
    }
    *taken = oldest && oldest->xid == xid;
    if (!*taken)
        return false;
    if (error != 0 && rest.len == 0)
        return true;
    if (oldest->type == ZOO_MULTI_OP)
        skip_results(&rest);
    else if (error == 0)
        skip_result(&rest, oldest->type);
    return rest.sound;
}
