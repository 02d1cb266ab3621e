/* Whether what a server sends is whole, and the ACLs that users write. */
#include <stdlib.h>
#include <string.h>

#include <zookeeper/proto.h>
#include <zookeeper/zookeeper.h>

#include "ensemble/acl.h"
#include "ensemble/reply.h"
#include "unit.h"

enum { STAT = 68 };

/* As long as a hash in an ACL. */
#define HASH "2jmj7l5rSw0yVb/vlWAYkK/YBwk="

struct frame {
    unsigned char bytes[512];
    size_t len;
};

static void put_int(struct frame *frame, int32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        frame->bytes[frame->len++] = (unsigned char)((uint32_t)value >> shift);
}

static void put_zeros(struct frame *frame, size_t len)
{
    memset(frame->bytes + frame->len, 0, len);
    frame->len += len;
}

static void put_string(struct frame *frame, const char *text)
{
    put_int(frame, (int32_t)strlen(text));
    memcpy(frame->bytes + frame->len, text, strlen(text));
    frame->len += strlen(text);
}

static struct frame header(int32_t xid, int32_t error)
{
    struct frame frame = {.len = 0};

    put_int(&frame, xid);
    put_zeros(&frame, 8);
    put_int(&frame, error);
    return frame;
}

static bool sound(const struct frame *frame, size_t len, int32_t type)
{
    unsigned char parts[] = {ZOO_CHECK_OP, ZOO_SETDATA_OP, ZOO_DELETE_OP, ZOO_DELETE_OP};
    struct reply_due due = {.xid = 7, .type = type, .parts = parts, .parts_len = sizeof(parts)};
    unsigned char *exact = malloc(len ? len : 1); /* a sanitizer sees what is read behind it */
    bool taken;
    bool is_sound;

    if (!exact)
        abort();
    memcpy(exact, frame->bytes, len);
    is_sound = reply_is_sound(exact, len, &due, false, &taken);
    free(exact);
    return is_sound && taken;
}

/* Each reply is sound as a whole, and with a byte less it is not; with more of them it is. */
static void check_reply(const char *what, struct frame frame, int32_t type)
{
    CHECK(what, sound(&frame, frame.len, type));
    for (size_t len = 0; len < frame.len; len++)
        CHECK(what, !sound(&frame, len, type) || len == 16);
    put_zeros(&frame, 3);
    CHECK(what, sound(&frame, frame.len, type));
}

static void test_replies(void)
{
    struct frame frame = header(7, 0);

    put_string(&frame, "/lock/a");
    check_reply("create", frame, ZOO_CREATE_OP);
    check_reply("sync", frame, ZOO_SYNC_OP);
    put_zeros(&frame, STAT);
    check_reply("create2", frame, ZOO_CREATE2_OP);
    check_reply("get", frame, ZOO_GETDATA_OP);
    frame = header(7, 0);
    put_zeros(&frame, STAT);
    check_reply("exists", frame, ZOO_EXISTS_OP);
    check_reply("set", frame, ZOO_SETDATA_OP);
    frame = header(7, 0);
    put_int(&frame, 2);
    put_string(&frame, "a");
    put_string(&frame, "");
    check_reply("children", frame, ZOO_GETCHILDREN_OP);
    put_zeros(&frame, STAT);
    check_reply("children2", frame, ZOO_GETCHILDREN2_OP);
    frame = header(7, 0);
    put_int(&frame, 0);
    check_reply("no children", frame, ZOO_GETCHILDREN_OP);
    put_zeros(&frame, STAT);
    check_reply("no children", frame, ZOO_GETCHILDREN2_OP);
    check_reply("no ACL", frame, ZOO_GETACL_OP);
    frame = header(7, 0);
    put_int(&frame, 2);
    for (int i = 0; i < 2; i++) {
        put_int(&frame, 31);
        put_string(&frame, "world");
        put_string(&frame, "anyone");
    }
    put_zeros(&frame, STAT);
    check_reply("ACL", frame, ZOO_GETACL_OP);
    frame = header(7, 0);
    put_int(&frame, -1);
    put_zeros(&frame, STAT);
    CHECK("an ACL of -1", !sound(&frame, frame.len, ZOO_GETACL_OP));
    frame = header(7, 0);
    check_reply("delete", frame, ZOO_DELETE_OP);
    frame = header(7, -101);
    check_reply("an error", frame, ZOO_GETDATA_OP);
}

static void put_result(struct frame *frame, int32_t type, bool done)
{
    put_int(frame, type);
    frame->bytes[frame->len++] = done;
    put_int(frame, done ? -1 : 0);
}

static void test_multi(void)
{
    unsigned char part = ZOO_DELETE_OP;
    struct reply_due due = {.xid = 7, .type = ZOO_MULTI_OP, .parts = &part, .parts_len = 1};
    struct frame frame = header(7, 0);
    bool taken;

    put_result(&frame, part, false);
    put_result(&frame, -1, true);
    CHECK("one part", reply_is_sound(frame.bytes, frame.len, &due, false, &taken));
    due.parts_len = 0;
    frame = header(7, 0);
    put_result(&frame, -1, true);
    CHECK("no part", !reply_is_sound(frame.bytes, frame.len, &due, false, &taken));
    frame = header(7, 0);
    put_result(&frame, ZOO_CHECK_OP, false);
    put_result(&frame, ZOO_SETDATA_OP, false);
    put_zeros(&frame, STAT);
    put_result(&frame, ZOO_DELETE_OP, false);
    put_result(&frame, -1, false);
    put_int(&frame, -101);
    put_result(&frame, -1, true);
    CHECK("multi", sound(&frame, frame.len, ZOO_MULTI_OP));
    for (size_t len = 0; len < frame.len; len++)
        CHECK("multi", !sound(&frame, len, ZOO_MULTI_OP));
    frame.bytes[16 + 3] = ZOO_DELETE_OP;
    CHECK("another part", !sound(&frame, frame.len, ZOO_MULTI_OP));
    for (int count = 0; count < 7; count++) {
        frame = header(7, 0);
        for (int i = 0; i < count; i++) {
            put_result(&frame, -1, false);
            put_int(&frame, -101);
        }
        put_result(&frame, -1, true);
        CHECK("as many parts", sound(&frame, frame.len, ZOO_MULTI_OP) == (count == 4));
    }
    frame = header(7, -4);
    CHECK("multi that failed", sound(&frame, frame.len, ZOO_MULTI_OP));
}

static void put_part(struct frame *frame, int32_t type)
{
    put_result(frame, type, false);
    put_string(frame, "/x");
    if (type == ZOO_SETDATA_OP)
        put_string(frame, "data");
    put_int(frame, -1);
}

static void test_parts(void)
{
    struct reply_due due = {.xid = 7};
    struct frame frame = {.len = 0};
    size_t len;

    put_part(&frame, ZOO_SETDATA_OP);
    put_part(&frame, ZOO_CHECK_OP);
    put_part(&frame, ZOO_DELETE_OP);
    len = frame.len;
    put_result(&frame, -1, true);
    reply_note_parts(&due, frame.bytes, frame.len);
    CHECK("parts", due.parts_len == 3 && due.parts[0] == ZOO_SETDATA_OP);
    CHECK("parts", due.parts[1] == ZOO_CHECK_OP && due.parts[2] == ZOO_DELETE_OP);
    free(due.parts);
    for (size_t i = 0; i < frame.len; i++) {
        reply_note_parts(&due, frame.bytes, i);
        CHECK("a part of the parts", due.parts_len == 0);
        free(due.parts);
    }
    frame.len = len;
    put_result(&frame, ZOO_CREATE_OP, false);
    put_string(&frame, "/x");
    put_int(&frame, -1);
    put_int(&frame, 1);
    put_int(&frame, 31);
    put_string(&frame, "world");
    put_string(&frame, "anyone");
    put_int(&frame, 0);
    put_result(&frame, -1, true);
    reply_note_parts(&due, frame.bytes, frame.len);
    CHECK("parts", due.parts_len == 4 && due.parts[3] == ZOO_CREATE_OP);
    free(due.parts);
    frame.len = len;
    put_result(&frame, ZOO_EXISTS_OP, false);
    put_string(&frame, "/x");
    put_int(&frame, 0);
    put_result(&frame, -1, true);
    reply_note_parts(&due, frame.bytes, frame.len);
    CHECK("a part that is not known", due.parts_len == 0);
    free(due.parts);
}

static void test_lengths(void)
{
    static const int32_t counts[] = {-1, -2, -5, 1, 10000000, INT32_MAX, INT32_MIN};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct frame frame = header(7, 0);

        put_int(&frame, counts[i]);
        CHECK("a length", !sound(&frame, frame.len, ZOO_CREATE_OP));
        CHECK("a count", !sound(&frame, frame.len, ZOO_GETCHILDREN_OP));
    }
}

/* The library frees a string of the length -1 that it has not read.  Data may be none at all. */
static void test_no_string(void)
{
    struct frame frame = header(7, 0);

    put_int(&frame, -1);
    put_zeros(&frame, STAT);
    CHECK("no path", !sound(&frame, frame.len, ZOO_CREATE_OP));
    CHECK("no path", !sound(&frame, frame.len, ZOO_CREATE2_OP));
    CHECK("no path", !sound(&frame, frame.len, ZOO_SYNC_OP));
    CHECK("no data", sound(&frame, frame.len, ZOO_GETDATA_OP));
    frame = header(7, 0);
    put_int(&frame, -2);
    put_zeros(&frame, STAT);
    CHECK("data of -2", !sound(&frame, frame.len, ZOO_GETDATA_OP));
    frame = header(7, 0);
    put_int(&frame, 1);
    put_int(&frame, -1);
    CHECK("no name", !sound(&frame, frame.len, ZOO_GETCHILDREN_OP));
}

static void test_order(void)
{
    struct reply_due due = {.xid = 7, .type = ZOO_DELETE_OP};
    struct frame frame = header(8, 0);
    bool taken;

    CHECK("another's", !reply_is_sound(frame.bytes, frame.len, &due, false, &taken));
    CHECK("nobody's", !reply_is_sound(frame.bytes, frame.len, NULL, false, &taken));
    for (int32_t xid = -8; xid < 0; xid++) {
        bool known = xid == -2 || xid == -8;

        frame = header(xid, 0);
        CHECK("unasked", reply_is_sound(frame.bytes, frame.len, &due, false, &taken) == known);
        CHECK("unasked", !taken);
    }
    frame = header(-2, 0);
    for (size_t len = 0; len < frame.len; len++)
        CHECK("a header", !reply_is_sound(frame.bytes, len, &due, false, &taken));
    frame = header(-4, 0);
    CHECK("credentials", reply_is_sound(frame.bytes, frame.len, &due, true, &taken) && !taken);
    frame = header(-1, 0);
    put_int(&frame, ZOO_SESSION_EVENT);
    put_int(&frame, ZOO_EXPIRED_SESSION_STATE);
    put_string(&frame, "");
    CHECK("event of the session", !reply_is_sound(frame.bytes, frame.len, &due, false, &taken));
    frame = header(-1, 0);
    put_zeros(&frame, 8);
    put_int(&frame, -1);
    CHECK("event without a path", !reply_is_sound(frame.bytes, frame.len, &due, false, &taken));
    frame = header(-1, 0);
    put_zeros(&frame, 8);
    put_string(&frame, "/x");
    CHECK("event", reply_is_sound(frame.bytes, frame.len, NULL, false, &taken) && !taken);
    CHECK("event", !reply_is_sound(frame.bytes, frame.len - 1, NULL, false, &taken));
}

static void test_connect(void)
{
    static const struct {
        int32_t timeout_ms;
        bool fresh;
        bool resumed;
    } cases[] = {
        {15000, true, true},       {100, true, true},         {3600 * 1000, true, true},
        {0, false, true},          {99, false, false},        {-1, false, false},
        {INT32_MIN, false, false}, {INT32_MAX, false, false}, {3600 * 1000 + 1, false, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct frame frame = {.len = 0};

        put_zeros(&frame, 4);
        put_int(&frame, cases[i].timeout_ms);
        put_zeros(&frame, 8);
        put_int(&frame, 16);
        put_zeros(&frame, 16);
        for (size_t len = 0; len < 60; len++) {
            bool whole = len == 36 || len == 37;

            CHECK("connect",
                  reply_is_connect(frame.bytes, len, false) == (whole && cases[i].fresh));
            CHECK("connect",
                  reply_is_connect(frame.bytes, len, true) == (whole && cases[i].resumed));
        }
        frame.bytes[19] = 17;
        CHECK("connect", !reply_is_connect(frame.bytes, 37, true));
    }
}

/* The library's numbers are negative from 2038 on. */
static void test_apart(void)
{
    const struct reply_due due = {.xid = INT32_MIN + 5, .type = ZOO_DELETE_OP};
    struct frame frame = header(INT32_MIN + 5, 0);
    bool taken = false;

    CHECK("2038", !reply_is_apart(due.xid));
    CHECK("2038", reply_is_sound(frame.bytes, frame.len, &due, false, &taken) && taken);
    CHECK("apart", reply_is_apart(-1) && reply_is_apart(-2) && reply_is_apart(-4));
    CHECK("apart", reply_is_apart(-8) && !reply_is_apart(0) && !reply_is_apart(-3));
}

static void fuzz_replies(void)
{
    static const int32_t types[] = {1, 2, 3, 4, 5, 8, 9, 12, 13, 14, 15, -11, 99};

    for (int i = 0; i < FUZZ_ROUNDS; i++) {
        struct frame frame = header(7, fuzz_below(4) ? 0 : -101);
        size_t len = fuzz_below(200);

        for (size_t j = 0; j < len; j++)
            frame.bytes[frame.len++] = (unsigned char)(fuzz_below(3)   ? 0
                                                       : fuzz_below(2) ? fuzz_below(20)
                                                                       : fuzz_below(256));
        sound(&frame, frame.len, types[fuzz_below(sizeof(types) / sizeof(types[0]))]);
    }
}

static void test_acl(void)
{
    static const struct {
        const char *text;
        int count;
        bool open;
        bool needs;
    } good[] = {
        {"open", 1, true, false},
        {"creator", 1, false, true},
        {"creator-read", 2, false, true},
        {"world:anyone:cdrwa", 1, true, false},
        {"world:anyone:rwcd", 1, false, false},
        {"world:anyone:r,digest:a:" HASH ":wcd", 2, false, true},
        {"x509:CN=zk,O=Example, Inc:cdrw", 1, false, true},
        {"ip:fe80::1:cdrw", 1, false, false},
    };
    static const char *const bad[] = {"",
                                      "all",
                                      "world:anyone",
                                      "world:anyone:",
                                      "world:anyone:q",
                                      "world:anyone:r",
                                      "world:all:cdrw",
                                      ":x:cdrw",
                                      "world:anyone:cdrw,",
                                      ",world:anyone:cdrw",
                                      "world:anyone:cdrw,x",
                                      "world:anyone:cdrw,ip:::q",
                                      "world:anyone:cdrw,auth:r",
                                      "auth::cdw",
                                      "digest:a:b:cdrw",
                                      "digest:a:cdrw",
                                      "digest:a:" HASH ":cd,digest:c:" HASH ":rw"};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        char *fault = NULL;
        struct ACL_vector *acl = acl_parse(good[i].text, &fault);

        CHECK(good[i].text, acl && acl->count == good[i].count);
        CHECK(good[i].text, acl && acl_is_open(acl) == good[i].open);
        CHECK(good[i].text, acl && acl_needs_credentials(acl) == good[i].needs);
        acl_free(acl);
        free(fault);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char *fault = NULL;

        CHECK(bad[i], !acl_parse(bad[i], &fault) && fault);
        free(fault);
    }
}

static void test_acl_entries(void)
{
    static const char letters[] = "rwcda"; /* in the order of their bits */

    for (int i = 0; letters[i]; i++) {
        char text[] = "world:anyone:cdrw,ip:fe80::1:?";
        struct ACL_vector *acl;
        struct ACL_vector *copy;
        char *fault;

        text[strlen(text) - 1] = letters[i];
        acl = acl_parse(text, &fault);
        copy = acl_copy(acl);
        CHECK(text, copy && copy->count == 2 && copy->data[1].perms == 1 << i);
        CHECK(text, copy && strcmp(copy->data[1].id.scheme, "ip") == 0);
        CHECK(text, copy && strcmp(copy->data[1].id.id, "fe80::1") == 0);
        acl_free(copy);
        acl_free(acl);
    }
    CHECK("a copy of none", !acl_copy(NULL) && !acl_needs_credentials(NULL));
}

static void test_acl_inherit(void)
{
    const struct {
        struct ACL above;
        int count;
    } some[] = {
        {{ZOO_PERM_ALL, {(char *)"world", (char *)"anyone"}}, 1},
        {{ZOO_PERM_READ, {(char *)"world", (char *)"anyone"}}, 2},
        {{ZOO_PERM_ALL, {(char *)"digest", (char *)"a:" HASH}}, 2},
        {{ZOO_PERM_ALL, {(char *)"digest", (char *)"a:xx"}}, 2},
        {{ZOO_PERM_ALL, {(char *)"x509", (char *)"a:x"}}, 2},
        {{ZOO_PERM_ALL, {(char *)"digest", (char *)"a:x"}}, 0}, /* not told */
    };

    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        const char *id = some[i].above.id.id;
        const struct ACL_vector above = {.count = 1, .data = (struct ACL *)&some[i].above};
        struct ACL_vector *own = acl_inherit(&above);

        CHECK(id, (own ? own->count : 0) == some[i].count);
        CHECK(id, !own || acl_needs_credentials(own) == (own->count == 2));
        acl_free(own);
    }
}

void unit_reply(void)
{
    test_replies();
    test_multi();
    test_parts();
    test_lengths();
    test_no_string();
    test_order();
    test_connect();
    test_apart();
    fuzz_replies();
    test_acl();
    test_acl_entries();
    test_acl_inherit();
}
