/* Texts, names of locks, servers as typed. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "ensemble/servers.h"
#include "ensemble/znode.h"
#include "lock/lockname.h"
#include "unit.h"

static void test_text(void)
{
    char *text = text_clean("a\033[31m\x9b\x7f\n\tb\xff");

    CHECK(text, strcmp(text, "a?[31m????b?") == 0);
    free(text);
    for (size_t width = 0; width < 12; width++) {
        text = text_cut("0123456789", width);
        CHECK(text, text_width(text) == (width < 10 ? width : 10));
        CHECK(text, width >= 10 || width < 4 || strcmp(text + width - 3, "...") == 0);
        free(text);
    }
}

static void test_lockname(void)
{
    static const struct {
        const char *name;
        const char *path;
    } good[] = {
        {"deploy", "/locks/deploy"},
        {"web/deploy", "/locks/web/deploy"},
        {"/app/deploy", "/app/deploy"},
        {"with blank", "/locks/with blank"},
        {"\xc3\xbcml\xc3\xa4ut", "/locks/\xc3\xbcml\xc3\xa4ut"},
        {"...", "/locks/..."},
        {"a-000000001", "/locks/a-000000001"},
        {"/zookeepers/x", "/zookeepers/x"},
        {"once", "/locks/once"},
    };
    static const char *const bad[] = {
        "",
        "/",
        "//",
        "a//b",
        "/a/",
        "a/",
        "..",
        ".",
        "../a",
        "./a",
        "/a/../b",
        "/a/./b",
        "/a/..",
        "/zookeeper",
        "/zookeeper/x",
        "a\nb",
        "a\x01z",
        "a\x7f",
        "\xc2\x80",
        "\xff",
        "\xc0\xaf",
        "\xed\xa0\x80",
        "\xef\xbf\xbf",
        "\xee\x80\x80",
        "\xc3",
        "job-0000000001",
        "job.once",
        "a.once/b",
        "\xf0\x9f\x94\x92",
        "0123456789",
    };
    const char *fault;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        char *path = lockname_resolve(good[i].name, LOCKNAME_ROOT, &fault);

        CHECK(good[i].name, path && strcmp(path, good[i].path) == 0);
        free(path);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(bad[i], !lockname_resolve(bad[i], LOCKNAME_ROOT, &fault) && fault && *fault);

    char *longest = malloc(ZNODE_PATH_MAX + 2);

    memset(longest, 'x', ZNODE_PATH_MAX + 1);
    longest[0] = '/';
    longest[ZNODE_PATH_MAX + 1] = '\0';
    CHECK("too long", !lockname_resolve(longest, LOCKNAME_ROOT, &fault));
    longest[ZNODE_PATH_MAX] = '\0';

    char *path = lockname_resolve(longest, LOCKNAME_ROOT, &fault);

    CHECK("longest", path != NULL);
    free(path);
    free(longest);
}

static void test_lockname_root(void)
{
    const char *fault;
    char *below = lockname_resolve("b", "/a", &fault);
    char *top = lockname_resolve("b", "/", &fault);
    char *path = lockname_resolve("/b", "/a", &fault);

    CHECK("root", strcmp(below, "/a/b") == 0 && strcmp(top, "/b") == 0 && strcmp(path, "/b") == 0);
    CHECK("zookeeper's own", !lockname_resolve("zookeeper", "/", &fault));
    free(below);
    free(top);
    free(path);
}

static void test_servers(void)
{
    static const struct {
        const char *text;
        const char *connect;
        const char *turned; /* the next attempt's */
    } good[] = {
        {"10.0.0.1:1", "10.0.0.1:1", "10.0.0.1:1"},
        {"10.0.0.1", "10.0.0.1:2181", "10.0.0.1:2181"},
        {"[::1]:21/a/b", "::1:21/a/b", "::1:21/a/b"},
        {"[::1]", "::1:2181", "::1:2181"},
        {"10.0.0.1:1/", "10.0.0.1:1", "10.0.0.1:1"},
        {"10.0.0.1:1,10.0.0.1:1", "10.0.0.1:1", "10.0.0.1:1"},
    };
    static const char *const bad[] = {
        "",       ",",      "a,",     ":2181",    "a:0",           "a:65536",
        "a:x",    "a:",     "a:-1",   "::1:2181", "[::1",          "[x]:1",
        "[::1]x", "a:1/b/", "a:1//b", "a:1/../b", "a:99999999999", "/chroot",
    };
    char *fault;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct servers *servers = servers_parse(good[i].text, &fault);

        CHECK(good[i].text, servers && servers_resolve(servers, CLOCK_NEVER, -1, &fault) == 0);

        char *first = servers_connect_string(servers, 0, NULL);
        char *second = servers_connect_string(servers, 1, NULL);

        CHECK(good[i].text, strcmp(first, good[i].connect) == 0);
        CHECK(good[i].text, strcmp(second, good[i].turned) == 0);
        free(first);
        free(second);
        servers_free(servers);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        fault = NULL;
        CHECK(bad[i], !servers_parse(bad[i], &fault) && fault && *fault);
        free(fault);
    }

    /* An even number becomes odd, and every attempt starts with another server. */
    struct servers *two = servers_parse("10.0.0.1:1,10.0.0.2:2", &fault);

    CHECK("two", servers_resolve(two, CLOCK_NEVER, -1, &fault) == 0 && servers_count(two) == 2);

    char *first = servers_connect_string(two, 0, NULL);
    char *second = servers_connect_string(two, 1, NULL);

    CHECK(first, strcmp(first, "10.0.0.1:1,10.0.0.2:2,10.0.0.1:1") == 0 ||
                     strcmp(first, "10.0.0.2:2,10.0.0.1:1,10.0.0.2:2") == 0);
    CHECK(second, strcmp(first, second) != 0);
    free(first);
    free(second);
    servers_free(two);
}

static void test_server_addresses(void)
{
    char *fault;
    struct servers *resolved = servers_parse("10.0.0.1:1,[::1]:2/root", &fault);
    struct servers *other = servers_parse("10.0.0.1:1,[::1]:2/root", &fault);

    servers_resolve(resolved, CLOCK_NEVER, -1, &fault);

    char *line = servers_export(resolved);
    size_t count;

    servers_import(other, line);
    for (unsigned int i = 0; i < 2; i++) {
        const char *name = servers_names(other, i, &count)[0];

        CHECK(name, count == 1 && strncmp(servers_address(other, i), name, strlen(name)) == 0);
    }

    char *a = servers_connect_string(resolved, 0, NULL);
    char *b = servers_connect_string(other, 0, NULL);

    CHECK(b, strcmp(a, b) == 0);
    free(a);
    free(b);
    free(line);
    servers_free(resolved);
    servers_free(other);
}

void unit_names(void)
{
    test_text();
    test_lockname();
    test_lockname_root();
    test_servers();
    test_server_addresses();
}
