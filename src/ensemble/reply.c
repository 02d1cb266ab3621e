#include "ensemble/reply.h"

#include <zookeeper/proto.h>
#include <zookeeper/zookeeper.h>

#include "base/xalloc.h"

/* The xids of messages that may come unasked.  Named in zk_adaptor.h, which is not installed. */
enum { XID_EVENT = -1, XID_PING = -2, XID_AUTH = REPLY_XID_AUTH, XID_SET_WATCHES = -8 };

enum {
    HEADER_LEN = 16, /* xid, zxid, error */
    STAT_LEN = 68,
    CONNECT_LEN = 36, /* version, timeout, session, password; read-only from 3.4 on */
    PASSWORD_LEN = 16,
    PART_LEN = 9, /* of a multi: type, whether it is the end, error */
};

/* Session timeouts that servers agree on, in ms. */
enum { TIMEOUT_MIN_MS = 100, TIMEOUT_MAX_MS = 3600 * 1000 };

/* What is left of a frame.  Once it was too short, sound stays false. */
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

static void skip_bytes(struct rest *rest, int32_t least)
{
    int32_t len = take_int(rest);

    rest->sound = rest->sound && len >= least;
    if (len > 0)
        skip(rest, (size_t)len);
}

/* Skips a length and as many bytes.  For a length below 0 the library uses an invalid pointer. */
static void skip_string(struct rest *rest)
{
    skip_bytes(rest, 0);
}

/* Does the same, but accepts -1, which stands for no data. */
static void skip_data(struct rest *rest)
{
    skip_bytes(rest, -1);
}

static void skip_strings(struct rest *rest)
{
    int32_t count = take_int(rest);

    /* Each string takes at least the 4 bytes of its length, which limits the count. */
    rest->sound = rest->sound && count >= 0 && (size_t)count <= rest->len / 4;
    for (int32_t i = 0; i < count && rest->sound; i++)
        skip_string(rest);
}

/* Skips a vector of permissions, each with a scheme and an ID. */
static void skip_acl(struct rest *rest)
{
    int32_t count = take_int(rest);

    rest->sound = rest->sound && count >= 0 && (size_t)count <= rest->len / 12;
    for (int32_t i = 0; i < count && rest->sound; i++) {
        skip(rest, 4);
        skip_string(rest);
        skip_string(rest);
    }
}

/* Skips the result of an operation that succeeded. */
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
        skip_data(rest);
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

/* Takes the header of a part of a multi.  Sets *done if it is the one that ends the multi. */
static int32_t take_part(struct rest *rest, bool *done)
{
    int32_t type = take_int(rest);

    *done = rest->sound && rest->len > 0 && rest->bytes[0] != 0;
    skip(rest, 1);
    take_int(rest); /* in a result: the error, which the body repeats */
    return type;
}

void reply_note_parts(struct reply_due *due, const unsigned char *request, size_t len)
{
    struct rest rest = {.bytes = request, .len = len, .sound = true};

    due->parts = xcalloc(len / PART_LEN + 1, 1);
    due->parts_len = 0;
    for (size_t count = 0; rest.sound; count++) {
        bool done;
        int32_t type = take_part(&rest, &done);

        if (done && rest.sound)
            due->parts_len = count;
        if (done || (type != ZOO_CHECK_OP && type != ZOO_CREATE_OP && type != ZOO_DELETE_OP &&
                     type != ZOO_SETDATA_OP))
            return;
        due->parts[count] = (unsigned char)type;
        skip_string(&rest);
        if (type == ZOO_CREATE_OP || type == ZOO_SETDATA_OP)
            skip_data(&rest);
        if (type == ZOO_CREATE_OP)
            skip_acl(&rest);
        skip(&rest, 4); /* the version, or the flags */
    }
}

/* Skips the results of a multi: each is that of the part in the same place, or an error. */
static void skip_results(struct rest *rest, const struct reply_due *due)
{
    bool done;

    for (size_t i = 0; i < due->parts_len; i++) {
        int32_t type = take_part(rest, &done);

        rest->sound = rest->sound && !done && (type == -1 || type == due->parts[i]);
        if (type == -1)
            skip(rest, 4);
        else
            skip_result(rest, type);
    }
    take_part(rest, &done);
    rest->sound = rest->sound && done && due->parts_len > 0;
}

bool reply_is_apart(int32_t xid)
{
    return xid == XID_EVENT || xid == XID_PING || xid == XID_AUTH || xid == XID_SET_WATCHES;
}

bool reply_is_connect(const unsigned char *frame, size_t len, bool resumes)
{
    struct rest rest = {
        .bytes = frame, .len = len, .sound = len == CONNECT_LEN || len == CONNECT_LEN + 1};
    int32_t timeout;
    bool expired;

    skip(&rest, 4);
    timeout = take_int(&rest);
    expired = resumes && timeout == 0;
    rest.sound =
        rest.sound && (expired || (timeout >= TIMEOUT_MIN_MS && timeout <= TIMEOUT_MAX_MS));
    skip(&rest, 8);
    return take_int(&rest) == PASSWORD_LEN && rest.sound;
}

bool reply_is_sound(const unsigned char *frame, size_t len, const struct reply_due *oldest,
                    bool authenticated, bool *taken)
{
    struct rest rest = {.bytes = frame, .len = len, .sound = true};
    int32_t xid = take_int(&rest);
    int32_t error;

    skip(&rest, 8);
    error = take_int(&rest);
    *taken = false;
    if (!rest.sound)
        return false;
    if (xid == XID_AUTH)
        return authenticated;
    if (xid == XID_PING || xid == XID_SET_WATCHES)
        return true;
    if (xid == XID_EVENT) {
        bool of_session = take_int(&rest) == ZOO_SESSION_EVENT; /* only the library makes these */

        skip(&rest, 4);
        skip_string(&rest);
        return rest.sound && !of_session;
    }
    *taken = oldest && oldest->xid == xid;
    if (!*taken)
        return false;
    if (error != 0 && rest.len == 0)
        return true;
    if (oldest->type == ZOO_MULTI_OP)
        skip_results(&rest, oldest);
    else if (error == 0)
        skip_result(&rest, oldest->type);
    return rest.sound;
}
