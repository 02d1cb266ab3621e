/* What contenders say of themselves, and revocations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "lock/contender.h"
#include "lock/revocation.h"
#include "unit.h"

static bool is_printable(const char *text, size_t size)
{
    size_t len = strnlen(text, size);

    for (size_t i = 0; i < len; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    return len < size;
}

static void check_decoded(const char *data, size_t len)
{
    struct contender c;

    memset(&c, 0xff, sizeof(c));
    contender_decode(data, len, &c);
    CHECK("user", is_printable(c.user, sizeof(c.user)));
    CHECK("host", is_printable(c.host, sizeof(c.host)));
    CHECK("command", is_printable(c.command, sizeof(c.command)));
    CHECK("since", is_printable(c.since, sizeof(c.since)));
    CHECK("version", is_printable(c.version, sizeof(c.version)));
    CHECK("address", is_printable(c.address, sizeof(c.address)));
    CHECK("numbers", c.pid >= 0 && c.terms.permits >= 0 && c.terms.lease_ms >= 0 &&
                         c.terms.settling_ms >= 0 && c.terms.kind <= CONTENDER_PERMIT);
}

/* Ours with bytes replaced, and cut off. */
static void fuzz_decoded(void)
{
    static const char whole[] =
        "zkflock/1 held exclusive\nci@runner7 pid 4711: make deploy\n"
        "since=2026-11-22T02:40:10Z kind=permit permits=3 lease=15000ms settling=9ms "
        "delay=0 version=0.1.0\n";
    char data[sizeof(whole)];

    for (int round = 0; round < 20000; round++) {
        memcpy(data, whole, sizeof(whole));
        for (size_t i = fuzz_below(8); i > 0; i--)
            data[fuzz_below(sizeof(whole))] = (char)(fuzz_below(4) ? fuzz_below(256) : '\n');
        check_decoded(data, fuzz_below(sizeof(whole)));
    }
}

/* Whatever somebody wrote, what comes out is short and printable. */
static void fuzz_contender(void)
{
    char data[600] = "zkflock/1 ";
    char who[CONTENDER_WHO_SIZE];

    for (unsigned int round = 0; round < 20000; round++) {
        size_t len = fuzz_below(sizeof(data));
        bool printable = true;

        /* Half of them begin as ours do. */
        for (size_t i = round % 2 ? 10 : 0; i < len; i++)
            data[i] = (char)(fuzz_below(8) ? fuzz_below(256) : '\n');
        contender_who(data, len, who);
        for (const char *c = who; *c; c++)
            printable &= *c >= ' ' && *c <= '~';
        CHECK("fuzz", printable && strlen(who) < sizeof(who));
        check_decoded(data, len);
        if (round % 2 == 0)
            snprintf(data, sizeof(data), "zkflock/1 ");
    }
}

static void test_contender(void)
{
    char *words[] = {(char *)"make", (char *)"\033[2Jdeploy\n", NULL};
    const struct contender_terms exclusive = {.kind = CONTENDER_EXCLUSIVE, .lease_ms = 15000};
    const struct contender_terms sharing = {.kind = CONTENDER_SHARED, .lease_ms = 15000};
    char who[CONTENDER_WHO_SIZE];

    contender_introduce(words);

    char *held = contender_encode(CONTENDER_HELD, &exclusive);
    char *waiting = contender_encode(CONTENDER_WAITING, &exclusive);
    char *shared = contender_encode(CONTENDER_HELD, &sharing);

    CHECK(held, contender_holds_exclusively(held, strlen(held)));
    CHECK(waiting, !contender_holds_exclusively(waiting, strlen(waiting)));
    CHECK("nothing", !contender_holds_exclusively("", 0));
    CHECK(shared, !contender_holds_exclusively(shared, strlen(shared)));
    CHECK("cut off", !contender_holds_exclusively(held, strlen("zkflock/1 held exclusive")));

    contender_who(held, strlen(held), who);
    CHECK(who, strstr(who, "@") && strstr(who, " pid ") && strstr(who, ": make ?[2Jdeploy?"));
    CHECK("another's", !*contender_who("10.0.0.1", 8, who));
    CHECK("no second line", !*contender_who("zkflock/1 held", 14, who));
    CHECK("another version", !*contender_who("zkflock/2 held\nx", 16, who));
    fuzz_contender();
    fuzz_decoded();
    free(held);
    free(waiting);
    free(shared);
}

static void test_contender_decoded(void)
{
    char *words[] = {(char *)"make", (char *)"all", NULL};
    const struct contender_terms terms = {.kind = CONTENDER_PERMIT,
                                          .permits = 3,
                                          .lease_ms = 15000,
                                          .no_delay = true,
                                          .settling_ms = 12345};
    struct contender c;

    setenv("LOGNAME", "a pid 7: b@c", 1);
    contender_introduce(words);

    char *data = contender_encode(CONTENDER_HELD, &terms);

    CHECK(data, strncmp(data, "zkflock/1 held exclusive\n", 25) == 0);
    contender_decode(data, strlen(data), &c);
    CHECK(data, c.known && c.held && c.pid > 0);
    CHECK(data, c.terms.kind == CONTENDER_PERMIT && c.terms.permits == 3 &&
                    c.terms.lease_ms == 15000 && c.terms.no_delay && c.terms.settling_ms == 12345);
    CHECK(c.since, strlen(c.since) == 20 && c.since[19] == 'Z');

    char *version = xasprintf(" version=%s\n", c.version);

    CHECK(version, *c.version && strstr(data, version));
    free(version);
    free(data);

    data = xstrdup("zkflock/1 waiting shared\nci@r@7 pid 12: x: y\n");
    contender_decode(data, strlen(data), &c);
    CHECK(data, c.known && !c.held && c.terms.kind == CONTENDER_SHARED);
    CHECK(data, strcmp(c.user, "ci@r") == 0 && strcmp(c.host, "7") == 0 && c.pid == 12 &&
                    strcmp(c.command, "x: y") == 0);
    free(data);

    contender_decode("10.0.0.1", 8, &c);
    CHECK("address", !c.known && strcmp(c.address, "10.0.0.1") == 0);
    contender_decode("fe80::1", 7, &c);
    CHECK("address", strcmp(c.address, "fe80::1") == 0);
    contender_decode("10.0.0.1 ", 9, &c);
    CHECK("no address", !*c.address);
    static const char longest[] = "0000:0000:0000:0000:0000:ffff:255.255.255.255";

    contender_decode(longest, strlen(longest), &c);
    CHECK("longest address", strcmp(c.address, longest) == 0);
    data = xasprintf("%s0", longest);
    contender_decode(data, strlen(data), &c);
    CHECK("more than an address", !*c.address);
    free(data);
    contender_decode("", 0, &c);
    CHECK("nothing", !c.known && !*c.address);
}

static void test_revocation(void)
{
    static const char held[] = "zkflock/1 held shared\nci@host pid 1: make\nsince=x lease=4000ms\n";
    static const char *const others[] = {"", "10.0.0.1", "zkflock/1 held exclusive",
                                         "zkflock/2 held exclusive\nx\n", "__REVOKE__"};
    char *words[] = {(char *)"zkflock", (char *)"--revoke", (char *)"\033[2J", NULL};
    char who[CONTENDER_WHO_SIZE];
    struct contender told;

    contender_introduce(words);

    char *text = revocation_encode(held, strlen(held), 17);
    char *again = revocation_encode(text, strlen(text), 18);

    CHECK(text, strncmp(text, "zkflock/1 revoked shared\n", 25) == 0);
    CHECK(text,
          revocation_decode(text, strlen(text), who) && strstr(who, ": zkflock --revoke ?[2J"));
    CHECK("a second request", strcmp(text, again) == 0);
    CHECK("not held", !contender_holds_exclusively(text, strlen(text)));
    contender_decode(text, strlen(text), &told);
    CHECK("who it is", strcmp(told.user, "ci") == 0 && told.terms.lease_ms == 4000 &&
                           told.terms.kind == CONTENDER_SHARED);
    CHECK("since when",
          contender_held_since(&told, 16, 18) == 17 && contender_held_since(&told, 18, 19) == 18);
    CHECK("no request", !revocation_decode(held, strlen(held), who) && !*who);
    CHECK("Curator's", revocation_decode("__REVOKE__", 10, who) && !*who);
    CHECK("more than Curator's", !revocation_decode("__REVOKE__\n", 11, who));
    CHECK("nobody's", revocation_decode("zkflock/1 revoked x", 19, who) && !*who);
    free(text);
    free(again);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        text = revocation_encode(others[i], strlen(others[i]), 17);
        CHECK(others[i], strcmp(text, "__REVOKE__") == 0);
        free(text);
    }
    /* Up to 4,096 bytes are kept. */
    for (size_t len = 4096; len <= 4097; len++) {
        char *data = xasprintf("zkflock/1 held\n%*s", (int)(len - 15), "");

        text = revocation_encode(data, len, 17);
        CHECK("length", (strcmp(text, "__REVOKE__") == 0) == (len > 4096));
        free(text);
        free(data);
    }
    for (unsigned int round = 0; round < 20000; round++) {
        char data[300] = "zkflock/1 revoked ";
        size_t len = fuzz_below(sizeof(data));
        bool printable = true;

        for (size_t i = round % 2 ? 18 : 0; i < len; i++)
            data[i] = "r\nevoked by\033"[fuzz_below(13)];
        free(revocation_encode(data, len, 17));
        revocation_decode(data, len, who);
        for (const char *c = who; *c; c++)
            printable &= *c >= ' ' && *c <= '~';
        CHECK("fuzz", printable);
    }
}

void unit_contender(void)
{
    test_contender();
    test_contender_decoded();
    test_revocation();
}
