/*
 * What stands between the client library and the kernel.  The target is both: as the library it
 * sends requests and reads, as the kernel it takes and gives bytes in pieces of any size.  Whatever
 * comes, the library reads what the server has sent, byte for byte, and nothing of a frame before
 * all of it has come and is sound; from a frame on that is not, each read fails with EBADMSG.  The
 * parts of a multi count however few bytes of it the kernel takes at once.
 */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <zookeeper/proto.h>
#include <zookeeper/zookeeper.h>

#include "ensemble/reply.h"
#include "fuzz.h"

enum {
    FD = 77,
    ROOM = 1 << 16,
    DUE_MAX = 200,
    PARTS_MAX = 3,
    BEGINNING_LEN = 12, /* of a request: length, xid, type */
    SESSION_AT = 20,    /* of the first request: length, version, zxid, timeout, session */
    GREETING_LEN = 28,
    REQUEST_MAX = BEGINNING_LEN + (PARTS_MAX + 1) * 48,
};

/* As the linker names them, see src/ensemble/wire.c. */
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len);
ssize_t __wrap_recv(int fd, void *bytes, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t len, int flags);
int __wrap_close(int fd);
int __real_connect(int fd, const struct sockaddr *address, socklen_t len);
ssize_t __real_recv(int fd, void *bytes, size_t len, int flags);
ssize_t __real_send(int fd, const void *bytes, size_t len, int flags);
int __real_close(int fd);

static struct fuzz_input input;

/* What the server has sent: all of it, what the kernel has given on, and what has been read. */
static unsigned char stream[ROOM];
static size_t sent_len;
static size_t given_len;
static size_t read_len;
static bool closed; /* by the server */

/* The frame that is being read: its end, and whether a sound one is. */
static size_t frame_end;
static bool answered;
static bool broken;

/* Requests whose beginning the kernel has taken. */
static struct reply_due due[DUE_MAX];
static unsigned char parts[DUE_MAX][PARTS_MAX];
static size_t due_begin;
static size_t due_end;
static size_t taken_len; /* of the request under way */
static bool greeted;
static bool resumes;
static bool authenticated;
static unsigned char request[REQUEST_MAX];
static size_t request_len;

/* ---- the kernel ---- */

int __real_connect(int fd, const struct sockaddr *address, socklen_t len)
{
    (void)fd;
    (void)address;
    (void)len;
    return 0;
}

int __real_close(int fd)
{
    (void)fd;
    return 0;
}

ssize_t __real_recv(int fd, void *bytes, size_t len, int flags)
{
    size_t part = sent_len - given_len;
    size_t most = 1 + fuzz_byte(&input);

    MUST(fd == FD && len > 0 && flags == MSG_DONTWAIT);
    if (part == 0 && closed)
        return 0;
    if (part == 0) {
        errno = EAGAIN;
        return -1;
    }
    part = part < len ? part : len;
    part = part < most ? part : most;
    memcpy(bytes, stream + given_len, part);
    given_len += part;
    return (ssize_t)part;
}

ssize_t __real_send(int fd, const void *bytes, size_t len, int flags)
{
    unsigned int most = fuzz_byte(&input);

    most = most > 200 ? REQUEST_MAX : most % 17;

    (void)bytes;
    (void)flags;
    MUST(fd == FD);
    if (most == 0) {
        errno = EAGAIN;
        return -1;
    }
    return (ssize_t)(len < most ? len : most);
}

/* ---- the server ---- */

static void put(const void *bytes, size_t len)
{
    if (len > ROOM - sent_len)
        return;
    memcpy(stream + sent_len, bytes, len);
    sent_len += len;
}

static void put_int(uint32_t number)
{
    const unsigned char bytes[] = {(unsigned char)(number >> 24), (unsigned char)(number >> 16),
                                   (unsigned char)(number >> 8), (unsigned char)number};

    put(bytes, sizeof(bytes));
}

static void put_drawn(size_t len)
{
    len = len < input.len ? len : input.len;
    put(input.bytes, len);
    input.bytes += len;
    input.len -= len;
}

static void put_zeros(size_t len)
{
    static const unsigned char zeros[256];

    put(zeros, len);
}

/* Puts a frame with the length that it says, and mostly the header that is expected. */
static void put_frame(void)
{
    size_t len = fuzz_byte(&input);
    bool is_reply = fuzz_below(&input, 4) > 0 && due_begin < due_end;

    if (len < 16 + input.len && sent_len + 4 + 16 + len < ROOM) {
        put_int((uint32_t)(16 + len));
        put_int(is_reply ? (uint32_t)due[due_begin].xid : (uint32_t)-fuzz_below(&input, 9));
        put_zeros(8);
        put_int(fuzz_below(&input, 4) ? 0 : (uint32_t)-101);
        put_drawn(len / 2);
        put_zeros(len - len / 2);
    }
}

static void put_connect(void)
{
    static const uint32_t timeouts[] = {15000, 0, 99, 0x7fffffff};

    put_int(36);
    put_zeros(4);
    put_int(timeouts[fuzz_below(&input, 8) % 7 % 4]);
    put_zeros(8);
    put_int(16);
    put_zeros(16);
}

/* Puts a proper reply to a multi, all of whose parts have failed or none has. */
static void put_results(void)
{
    const struct reply_due *oldest = &due[due_begin];
    struct oarchive *out = create_buffer_oarchive();
    struct ReplyHeader header = {.xid = oldest->xid};
    struct MultiHeader end = {.type = -1, .done = 1, .err = -1};
    struct Stat stat = {0};
    bool failed = fuzz_below(&input, 2);

    serialize_ReplyHeader(out, "", &header);
    for (size_t i = 0; i < oldest->parts_len; i++) {
        int32_t type = failed ? -1 : oldest->parts[i];

        serialize_MultiHeader(out, "", &(struct MultiHeader){.type = type});
        if (failed)
            serialize_ErrorResponse(out, "", &(struct ErrorResponse){.err = -101});
        else if (type == ZOO_CREATE_OP)
            serialize_CreateResponse(out, "", &(struct CreateResponse){.path = (char[]){"/a"}});
        else if (type == ZOO_SETDATA_OP)
            serialize_SetDataResponse(out, "", &(struct SetDataResponse){.stat = stat});
    }
    serialize_MultiHeader(out, "", &end);
    put_int((uint32_t)get_buffer_len(out));
    put(get_buffer(out), (size_t)get_buffer_len(out));
    close_buffer_oarchive(&out, 1);
}

/* ---- the library ---- */

static size_t number_at(const unsigned char *at)
{
    return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

/* Looks at the next frame as wire.c has to: all of it has come by now. */
static void begin_frame(void)
{
    const unsigned char *frame = stream + read_len + 4;
    const struct reply_due *oldest = due_begin < due_end ? &due[due_begin] : NULL;
    bool taken = false;
    size_t len;

    MUST(given_len - read_len >= 4);
    len = number_at(stream + read_len);
    MUST(given_len - read_len == 4 + len);
    MUST(answered ? reply_is_sound(frame, len, oldest, authenticated, &taken)
                  : reply_is_connect(frame, len, resumes));
    due_begin += taken;
    answered = true;
    frame_end = read_len + 4 + len;
}

/* Makes sure that the next frame gives a reason. */
static void check_broken(void)
{
    const struct reply_due *oldest = due_begin < due_end ? &due[due_begin] : NULL;
    const unsigned char *frame = stream + read_len + 4;
    bool taken;
    size_t len;

    MUST(read_len == frame_end && given_len - read_len >= 4);
    len = number_at(stream + read_len);
    MUST(len > REPLY_MAX || given_len - read_len == 4 + len);
    MUST(len > REPLY_MAX || !(answered ? reply_is_sound(frame, len, oldest, authenticated, &taken)
                                       : reply_is_connect(frame, len, resumes)));
}

static void receive(size_t most)
{
    unsigned char *bytes = malloc(most);
    ssize_t len;

    if (!bytes)
        abort();
    errno = 0;
    len = __wrap_recv(FD, bytes, most, 0);
    MUST(!broken || (len < 0 && errno == EBADMSG));
    MUST(len <= (ssize_t)most);
    if (len > 0) {
        if (read_len == frame_end)
            begin_frame();
        MUST(read_len + (size_t)len <= frame_end);
        MUST(memcmp(bytes, stream + read_len, (size_t)len) == 0);
        read_len += (size_t)len;
    } else if (len == 0) {
        MUST(closed && given_len == sent_len);
    } else if (errno == EBADMSG && !broken) {
        check_broken();
        broken = true;
    } else if (errno != EBADMSG) {
        MUST(errno == EAGAIN && given_len == sent_len);
    }
    free(bytes);
}

static void put_part(struct oarchive *out, int32_t type)
{
    static char path[] = "/a";
    struct ACL one = {.perms = 31, .id = {path, path}};
    struct buffer data = {.len = 1, .buff = path};

    serialize_MultiHeader(out, "", &(struct MultiHeader){.type = type, .err = -1});
    if (type == ZOO_CREATE_OP)
        serialize_CreateRequest(
            out, "", &(struct CreateRequest){.path = path, .data = data, .acl = {1, &one}});
    else if (type == ZOO_DELETE_OP)
        serialize_DeleteRequest(out, "", &(struct DeleteRequest){.path = path});
    else if (type == ZOO_SETDATA_OP)
        serialize_SetDataRequest(out, "", &(struct SetDataRequest){.path = path, .data = data});
    else
        serialize_CheckVersionRequest(out, "", &(struct CheckVersionRequest){.path = path});
}

/* Draws the parts of a multi and appends them to the request. */
static void draw_parts(struct reply_due *next, unsigned char *types)
{
    static const unsigned char of[] = {ZOO_CHECK_OP, ZOO_SETDATA_OP, ZOO_DELETE_OP, ZOO_CREATE_OP};
    struct oarchive *out = create_buffer_oarchive();
    size_t len;

    next->parts = types;
    next->parts_len = fuzz_below(&input, PARTS_MAX + 1);
    for (size_t i = 0; i < next->parts_len; i++) {
        types[i] = of[fuzz_below(&input, 4)];
        put_part(out, types[i]);
    }
    serialize_MultiHeader(out, "", &(struct MultiHeader){.type = -1, .done = 1, .err = -1});
    len = (size_t)get_buffer_len(out);
    MUST(BEGINNING_LEN + len <= REQUEST_MAX);
    memcpy(request + BEGINNING_LEN, get_buffer(out), len);
    request_len = BEGINNING_LEN + len;
    close_buffer_oarchive(&out, 1);
}

/*
 * Begins a request: the first one, or any other, which may be one whose answer comes out of order,
 * or that of credentials.
 */
static void draw_request(void)
{
    static const unsigned char of[] = {1, 2, 3, 4, 5, 8, 9, 12, 14, 15, 13, 6};
    unsigned int which = fuzz_below(&input, 16);
    struct reply_due *next = &due[due_end];

    memset(request, 0, sizeof(request));
    if (!greeted) {
        request_len = 48;
        request[3] = 44;
        request[SESSION_AT + fuzz_below(&input, 8)] = (unsigned char)fuzz_below(&input, 2);
        return;
    }
    *next = (struct reply_due){.xid = 1 + (int32_t)due_end};
    request_len = 16;
    request[7] = (unsigned char)next->xid;
    if (which < 2) {
        memset(request + 4, 0xff, 4);
        request[7] = which ? (unsigned char)-1 : (unsigned char)REPLY_XID_AUTH;
    }
    request[11] = of[fuzz_below(&input, sizeof(of))];
    next->type = request[11];
    if (next->type == ZOO_MULTI_OP)
        draw_parts(next, parts[due_end]);
    request[3] = (unsigned char)(request_len - 4);
}

/* Sends a request until the kernel has taken all of it, or on another occasion. */
static void send_request(void)
{
    bool had_begun = taken_len >= (greeted ? BEGINNING_LEN : GREETING_LEN);
    unsigned char *bytes;
    ssize_t len;

    if (taken_len == 0 && due_end == DUE_MAX)
        return;
    if (taken_len == 0)
        draw_request();
    bytes = (unsigned char *)fuzz_copy(request + taken_len, request_len - taken_len);
    len = __wrap_send(FD, bytes, request_len - taken_len, MSG_NOSIGNAL);
    free(bytes);
    if (len <= 0)
        return;
    taken_len += (size_t)len;
    if (greeted && !had_begun && taken_len >= BEGINNING_LEN) {
        authenticated |= request[4] == 0xff && request[7] == (unsigned char)REPLY_XID_AUTH;
        due_end += request[4] == 0;
    }
    if (!greeted && !had_begun && taken_len >= GREETING_LEN) {
        for (int i = 0; i < 8; i++)
            resumes |= request[SESSION_AT + i];
    }
    if (taken_len == request_len) {
        taken_len = 0;
        greeted = true;
    }
}

static void begin(void)
{
    const struct sockaddr_in address = {.sin_family = AF_INET};

    sent_len = given_len = read_len = frame_end = due_begin = due_end = taken_len = 0;
    closed = answered = broken = greeted = resumes = authenticated = false;
    __wrap_connect(FD, (const struct sockaddr *)&address, sizeof(address));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    input = (struct fuzz_input){bytes, size};
    begin();
    while (input.len > 0) {
        switch (fuzz_below(&input, 16)) {
        case 0:
            begin();
            break;
        case 1:
            closed = true;
            break;
        case 2:
            put_drawn(fuzz_byte(&input));
            break;
        case 3:
        case 4:
            put_connect();
            break;
        case 5:
        case 6:
            put_frame();
            break;
        case 7:
            if (due_begin < due_end && due[due_begin].type == ZOO_MULTI_OP)
                put_results();
            else
                put_frame();
            break;
        case 8:
        case 9:
        case 10:
            send_request();
            break;
        default:
            receive(1 + fuzz_byte(&input));
            break;
        }
    }
    __wrap_close(FD);
    return 0;
}
