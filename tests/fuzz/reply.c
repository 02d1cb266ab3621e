/*
 * Frames of a server.  A frame that is taken for sound is taken apart by the client library to the
 * end: nothing in it is missing, so that the library frees nothing that it has not read.  The first
 * byte says what is asked for, the others are the frame.  And what a server says properly is sound,
 * and with a byte less it is not.
 */
#include "ensemble/reply.h"

#include <zookeeper/proto.h>
#include <zookeeper/zookeeper.h>

#include "fuzz.h"

enum { XID = 7, XID_EVENT = -1 };

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
                                ZOO_MULTI_OP,       ZOO_CHECK_OP};

static void take_result(struct iarchive *in, int32_t type)
{
    switch (type) {
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
    default:
        break;
    }
}

static void take_results(struct iarchive *in)
{
    struct MultiHeader header;

    for (;;) {
        MUST(deserialize_MultiHeader(in, "multiheader", &header) == 0);
        if (header.done)
            return;
        if (header.type == -1)
            TAKE(ErrorResponse, in)
        else
            take_result(in, header.type);
    }
}

static void take_apart(char *frame, size_t len, int32_t type)
{
    struct iarchive *in = create_buffer_iarchive(frame, (int)len);
    struct ReplyHeader header;

    MUST(deserialize_ReplyHeader(in, "hdr", &header) == 0);
    if (header.xid == XID_EVENT)
        TAKE(WatcherEvent, in)
    else if (header.xid == XID && header.err == 0 && type == ZOO_MULTI_OP)
        take_results(in);
    else if (header.xid == XID && header.err == 0)
        take_result(in, type);
    close_buffer_iarchive(&in);
}

static bool is_sound(const char *bytes, size_t len, int32_t type)
{
    const struct reply_due due = {.xid = XID, .type = type};
    char *frame = fuzz_copy(bytes, len);
    bool taken = false;
    bool sound = reply_is_sound((unsigned char *)frame, len, &due, &taken);

    if (sound)
        take_apart(frame, len, type);
    free(frame);
    return sound;
}

/* ---- what a server says properly ---- */

static void put_result(struct oarchive *out, struct fuzz_input *input, int32_t type)
{
    char *text = fuzz_draw_text(input, 40);
    char *texts[] = {text, text};
    struct Stat stat = {.czxid = (int64_t)fuzz_number(input, 8)};
    struct String_vector names = {.count = (int32_t)fuzz_below(input, 3), .data = texts};
    struct buffer data = {.len = (int32_t)strlen(text), .buff = text};

    if (type == ZOO_CREATE_OP || type == ZOO_SYNC_OP)
        serialize_CreateResponse(out, "", &(struct CreateResponse){.path = text});
    else if (type == ZOO_CREATE2_OP)
        serialize_Create2Response(out, "", &(struct Create2Response){.path = text, .stat = stat});
    else if (type == ZOO_EXISTS_OP || type == ZOO_SETDATA_OP)
        serialize_SetDataResponse(out, "", &(struct SetDataResponse){.stat = stat});
    else if (type == ZOO_GETDATA_OP)
        serialize_GetDataResponse(out, "", &(struct GetDataResponse){.data = data, .stat = stat});
    else if (type == ZOO_GETCHILDREN_OP)
        serialize_GetChildrenResponse(out, "", &(struct GetChildrenResponse){.children = names});
    else if (type == ZOO_GETCHILDREN2_OP)
        serialize_GetChildren2Response(
            out, "", &(struct GetChildren2Response){.children = names, .stat = stat});
    free(text);
}

/* As the server does: all parts have failed, or none has. */
static void put_results(struct oarchive *out, struct fuzz_input *input)
{
    static const int32_t parts[] = {ZOO_CREATE_OP, ZOO_DELETE_OP, ZOO_SETDATA_OP, ZOO_CHECK_OP, -1};
    bool failed = fuzz_below(input, 2);
    struct MultiHeader end = {.type = -1, .done = 1, .err = -1};

    for (unsigned int left = fuzz_below(input, 4); left > 0; left--) {
        struct MultiHeader header = {.type = failed ? -1 : parts[fuzz_below(input, 4)]};

        serialize_MultiHeader(out, "", &header);
        if (failed)
            serialize_ErrorResponse(out, "", &(struct ErrorResponse){.err = -101});
        else
            put_result(out, input, header.type);
    }
    serialize_MultiHeader(out, "", &end);
}

static void check_proper(struct fuzz_input input, int32_t type)
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
    MUST(is_sound(get_buffer(out), len, type));
    MUST(!is_sound(get_buffer(out), len - 1, type) || len == 16);
    free(path);
    close_buffer_oarchive(&out, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    int32_t type = types[fuzz_below(&input, sizeof(types) / sizeof(types[0]))];
    char *frame = fuzz_copy(input.bytes, input.len);
    bool taken;

    is_sound(frame, input.len, type);
    MUST(!reply_is_sound((unsigned char *)frame, input.len, NULL, &taken) || !taken);
    MUST(!reply_is_connect((unsigned char *)frame, input.len) || input.len == 36 ||
         input.len == 37);
    check_proper(input, type);
    free(frame);
    return 0;
}
