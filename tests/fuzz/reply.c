/*
 * Frames of a server.  A frame that is taken for sound is taken apart by the client library to the
 * end: nothing in it is missing, so that the library frees nothing that it has not read; and the
 * results of a multi are as many as its parts, each read as that of its part.  The first byte says
 * what is asked for and whether credentials were sent; of a multi the next ones say which parts it
 * has.  The others are the frame.  And what a server says properly is sound, and with a byte less
 * it is not.
 *
 * The same bytes are the parts of a request, too: those that are noted are those that the library's
 * functions read there.
 */
#include "ensemble/reply.h"

#include <zookeeper/proto.h>
#include <zookeeper/zookeeper.h>

#include "fuzz.h"

enum { XID = 7, XID_EVENT = -1, XID_PING = -2, XID_SET_WATCHES = -8, PARTS_MAX = 4 };

static const int32_t part_types[] = {ZOO_CREATE_OP, ZOO_DELETE_OP, ZOO_SETDATA_OP, ZOO_CHECK_OP};

/* What is asked for. */
static int32_t type;
static unsigned char parts[PARTS_MAX]; /* of a multi */
static size_t parts_len;
static bool authenticated;

/*
 * Takes a part of a frame as the library does, into memory that is not 0.  All texts have to be
 * there: the library frees those that it did not find.
 */
#define TAKE(type, archive)                                                                        \
    {                                                                                              \
        struct type part;                                                                          \
                                                                                                   \
        memset(&part, 0xaa, sizeof(part));                                                         \
        MUST(deserialize_##type(archive, "reply", &part) == 0);                                    \
        deallocate_##type(&part);                                                                  \
    }

static const int32_t types[] = {ZOO_CREATE_OP,      ZOO_CREATE2_OP,      ZOO_DELETE_OP,
                                ZOO_EXISTS_OP,      ZOO_GETDATA_OP,      ZOO_SETDATA_OP,
                                ZOO_GETCHILDREN_OP, ZOO_GETCHILDREN2_OP, ZOO_SYNC_OP,
                                ZOO_MULTI_OP,       ZOO_CHECK_OP,        ZOO_GETACL_OP};

static void take_result(struct iarchive *in, int32_t of)
{
    switch (of) {
    case ZOO_CREATE_OP:
    case ZOO_SYNC_OP:
        TAKE(CreateResponse, in);
        break;
    case ZOO_CREATE2_OP:
        TAKE(Create2Response, in);
        break;
    case ZOO_EXISTS_OP:
    case ZOO_SETDATA_OP:
        TAKE(SetDataResponse, in);
        break;
    case ZOO_GETDATA_OP:
        TAKE(GetDataResponse, in);
        break;
    case ZOO_GETCHILDREN_OP:
        TAKE(GetChildrenResponse, in);
        break;
    case ZOO_GETCHILDREN2_OP:
        TAKE(GetChildren2Response, in);
        break;
    case ZOO_GETACL_OP:
        TAKE(GetACLResponse, in);
        break;
    default:
        break;
    }
}

/* As deserialize_multi() of the library does, which reads each result as that of the next part. */
static void take_results(struct iarchive *in)
{
    struct MultiHeader header = {0, 0, 0};
    size_t taken = 0;

    MUST(deserialize_MultiHeader(in, "multiheader", &header) == 0);
    while (!header.done) {
        MUST(taken < parts_len);
        if (header.type == -1)
            TAKE(ErrorResponse, in)
        else
            take_result(in, parts[taken]);
        taken++;
        MUST(deserialize_MultiHeader(in, "multiheader", &header) == 0);
    }
    MUST(taken == parts_len);
}

static void take_apart(char *frame, size_t len)
{
    struct iarchive *in = create_buffer_iarchive(frame, (int)len);
    struct ReplyHeader header;

    MUST(deserialize_ReplyHeader(in, "hdr", &header) == 0);
    MUST(header.xid == XID || header.xid == XID_EVENT || header.xid == XID_PING ||
         header.xid == XID_SET_WATCHES || (header.xid == REPLY_XID_AUTH && authenticated));
    if (header.xid == XID_EVENT)
        TAKE(WatcherEvent, in)
    else if (header.xid == XID && header.err == 0 && type == ZOO_MULTI_OP)
        take_results(in);
    else if (header.xid == XID && header.err == 0)
        take_result(in, type);
    close_buffer_iarchive(&in);
}

static bool is_sound(const char *bytes, size_t len)
{
    const struct reply_due due = {.xid = XID, .type = type, .parts = parts, .parts_len = parts_len};
    char *frame = fuzz_copy(bytes, len);
    bool taken = false;
    bool sound = reply_is_sound((unsigned char *)frame, len, &due, authenticated, &taken);

    MUST(!taken || (len >= 4 && memcmp(frame, "\0\0\0\7", 4) == 0));
    if (sound)
        take_apart(frame, len);
    free(frame);
    return sound;
}

/* ---- what a server says properly ---- */

static void put_result(struct oarchive *out, struct fuzz_input *input, int32_t of)
{
    char *text = fuzz_draw_text(input, 40);
    char *texts[] = {text, text};
    struct Stat stat = {.czxid = (int64_t)fuzz_number(input, 8)};
    struct String_vector names = {.count = (int32_t)fuzz_below(input, 3), .data = texts};
    struct ACL acls[] = {{.perms = 31, .id = {text, text}}, {.perms = 1, .id = {text, text}}};
    struct ACL_vector acl = {.count = names.count, .data = acls};
    struct buffer data = {.len = (int32_t)strlen(text), .buff = text};

    if (of == ZOO_CREATE_OP || of == ZOO_SYNC_OP)
        serialize_CreateResponse(out, "", &(struct CreateResponse){.path = text});
    else if (of == ZOO_CREATE2_OP)
        serialize_Create2Response(out, "", &(struct Create2Response){.path = text, .stat = stat});
    else if (of == ZOO_EXISTS_OP || of == ZOO_SETDATA_OP)
        serialize_SetDataResponse(out, "", &(struct SetDataResponse){.stat = stat});
    else if (of == ZOO_GETDATA_OP)
        serialize_GetDataResponse(out, "", &(struct GetDataResponse){.data = data, .stat = stat});
    else if (of == ZOO_GETCHILDREN_OP)
        serialize_GetChildrenResponse(out, "", &(struct GetChildrenResponse){.children = names});
    else if (of == ZOO_GETCHILDREN2_OP)
        serialize_GetChildren2Response(
            out, "", &(struct GetChildren2Response){.children = names, .stat = stat});
    else if (of == ZOO_GETACL_OP)
        serialize_GetACLResponse(out, "", &(struct GetACLResponse){.acl = acl, .stat = stat});
    free(text);
}

/* As the server does: all parts have failed, or none has. */
static void put_results(struct oarchive *out, struct fuzz_input *input)
{
    bool failed = fuzz_below(input, 2);
    struct MultiHeader end = {.type = -1, .done = 1, .err = -1};

    for (size_t i = 0; i < parts_len; i++) {
        struct MultiHeader header = {.type = failed ? -1 : parts[i]};

        serialize_MultiHeader(out, "", &header);
        if (failed)
            serialize_ErrorResponse(out, "", &(struct ErrorResponse){.err = -101});
        else
            put_result(out, input, header.type);
    }
    serialize_MultiHeader(out, "", &end);
}

static void check_proper(struct fuzz_input input)
{
    struct oarchive *out = create_buffer_oarchive();
    struct ReplyHeader header = {.xid = fuzz_below(&input, 8) ? XID : XID_EVENT};
    char *path = fuzz_draw_text(&input, 40);
    size_t len;

    serialize_ReplyHeader(out, "", &header);
    if (header.xid == XID_EVENT)
        serialize_WatcherEvent(out, "", &(struct WatcherEvent){.path = path});
    else if (type == ZOO_MULTI_OP)
        put_results(out, &input);
    else
        put_result(out, &input, type);
    len = (size_t)get_buffer_len(out);
    if (header.xid == XID_EVENT || type != ZOO_MULTI_OP || parts_len > 0) {
        MUST(is_sound(get_buffer(out), len));
        MUST(!is_sound(get_buffer(out), len - 1) || len == 16);
    } else {
        MUST(!is_sound(get_buffer(out), len));
    }
    free(path);
    close_buffer_oarchive(&out, 1);
}

/* ---- the parts of a request ---- */

/* Puts a part as zoo_amulti() does. */
static void put_part(struct oarchive *out, struct fuzz_input *input, int32_t of)
{
    struct MultiHeader header = {.type = of, .done = 0, .err = -1};
    char *path = fuzz_draw_text(input, 20);
    struct ACL one = {.perms = 31, .id = {path, path}};
    struct ACL_vector acl = {.count = (int32_t)fuzz_below(input, 2), .data = &one};
    struct buffer data = {.len = (int32_t)strlen(path), .buff = path};

    if (fuzz_below(input, 4) == 0)
        data = (struct buffer){.len = -1};
    serialize_MultiHeader(out, "", &header);
    if (of == ZOO_CREATE_OP)
        serialize_CreateRequest(out, "",
                                &(struct CreateRequest){.path = path, .data = data, .acl = acl});
    else if (of == ZOO_DELETE_OP)
        serialize_DeleteRequest(out, "", &(struct DeleteRequest){.path = path});
    else if (of == ZOO_SETDATA_OP)
        serialize_SetDataRequest(out, "", &(struct SetDataRequest){.path = path, .data = data});
    else
        serialize_CheckVersionRequest(out, "", &(struct CheckVersionRequest){.path = path});
    free(path);
}

/* Reads the noted parts by the library's functions; as many have to be there. */
static void take_parts(char *request, size_t len, const struct reply_due *due)
{
    struct iarchive *in = create_buffer_iarchive(request, (int)len);
    struct MultiHeader header;

    for (size_t i = 0; i < due->parts_len; i++) {
        MUST(deserialize_MultiHeader(in, "multiheader", &header) == 0);
        MUST(!header.done && header.type == due->parts[i]);
        if (header.type == ZOO_CREATE_OP)
            TAKE(CreateRequest, in)
        else if (header.type == ZOO_DELETE_OP)
            TAKE(DeleteRequest, in)
        else if (header.type == ZOO_SETDATA_OP)
            TAKE(SetDataRequest, in)
        else if (header.type == ZOO_CHECK_OP)
            TAKE(CheckVersionRequest, in)
        else
            MUST(false);
    }
    if (due->parts_len > 0) {
        MUST(deserialize_MultiHeader(in, "multiheader", &header) == 0);
        MUST(header.done);
    }
    close_buffer_iarchive(&in);
}

/* Returns how many parts are noted; compares them with the input's if they are to be the same. */
static size_t note(const char *bytes, size_t len, bool same)
{
    struct reply_due due = {.xid = XID, .type = ZOO_MULTI_OP};
    char *request = fuzz_copy(bytes, len);
    size_t count;

    reply_note_parts(&due, (unsigned char *)request, len);
    take_parts(request, len, &due);
    if (same)
        MUST(due.parts_len == parts_len && memcmp(due.parts, parts, parts_len) == 0);
    count = due.parts_len;
    free(due.parts);
    free(request);
    return count;
}

static void check_parts(struct fuzz_input input)
{
    struct oarchive *out = create_buffer_oarchive();
    struct MultiHeader end = {.type = -1, .done = 1, .err = -1};
    size_t len;

    for (size_t i = 0; i < parts_len; i++)
        put_part(out, &input, parts[i]);
    serialize_MultiHeader(out, "", &end);
    len = (size_t)get_buffer_len(out);
    note(get_buffer(out), len, true);
    MUST(note(get_buffer(out), fuzz_byte(&input) % len, false) == 0);
    close_buffer_oarchive(&out, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    unsigned int which = fuzz_byte(&input);
    char *frame;
    bool taken;

    type = types[(which & 127) % (sizeof(types) / sizeof(types[0]))];
    authenticated = which & 128;
    parts_len = type == ZOO_MULTI_OP ? fuzz_below(&input, PARTS_MAX + 1) : 0;
    for (size_t i = 0; i < parts_len; i++)
        parts[i] = (unsigned char)part_types[fuzz_below(&input, 4)];
    frame = fuzz_copy(input.bytes, input.len);
    is_sound(frame, input.len);
    MUST(!reply_is_sound((unsigned char *)frame, input.len, NULL, authenticated, &taken) || !taken);
    MUST(!reply_is_connect((unsigned char *)frame, input.len, which & 1) || input.len == 36 ||
         input.len == 37);
    note(frame, input.len, false);
    check_proper(input);
    check_parts(input);
    free(frame);
    return 0;
}
