/*
 * Connect strings.  What is taken has hosts with ports and a sound chroot, and is like itself.  Its
 * addresses and their names go to another process and come back the same; the client library gets
 * an odd number of them, in front of the chroot, and each of them for some attempt is the first.
 */
#include "ensemble/servers_state.h"

#include <arpa/inet.h>

#include "ensemble/znode.h"
#include "fuzz.h"

static bool is_literal(const char *name)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
}

static size_t count_of(const char *text, char c)
{
    size_t count = 0;

    for (; *text; text++)
        count += *text == c;
    return count;
}

static void check_hosts(const struct servers *servers)
{
    MUST(servers->hosts_len > 0);
    for (size_t i = 0; i < servers->hosts_len; i++) {
        const struct host *host = &servers->hosts[i];
        long port = strtol(host->port, NULL, 10);

        MUST(host->name[0] && !strpbrk(host->name, ",/"));
        MUST(port >= 1 && port <= 65535 && strspn(host->port, "0123456789") == strlen(host->port));
        MUST(!strchr(host->name, ':') || is_literal(host->name));
    }
    MUST(!servers->chroot[0] || !znode_path_fault(servers->chroot));
}

static void check_connect_string(const struct servers *servers)
{
    unsigned int count = servers_count(servers);
    uint16_t *ports = calloc(count, sizeof(ports[0]));

    if (!ports)
        abort();
    for (unsigned int i = 0; i < count; i++) {
        const char *address = servers_address(servers, i);
        char *text = servers_connect_string(servers, i, NULL);
        char *local = servers_connect_string(servers, i, ports);
        size_t chroot_len = strlen(servers->chroot);
        size_t list_len = strlen(text) - chroot_len;
        size_t names;

        MUST(strcmp(text + list_len, servers->chroot) == 0);
        text[list_len] = '\0';
        MUST(count_of(text, ',') % 2 == 0 && count_of(text, ',') + 1 == (count | 1));
        MUST(count_of(local, ',') == count_of(text, ','));
        MUST(strncmp(text, address, strlen(address)) == 0);
        MUST(servers_names(servers, i, &names) && names > 0 && names <= servers->hosts_len);
        free(local);
        free(text);
    }
    free(ports);
}

/*
 * Resolves as servers_resolve() does, but looks nothing up: of names that can be one, some share an
 * address.
 */
static void resolve(struct servers *servers)
{
    static const char *const addresses[] = {"10.0.0.1", "10.0.0.2", "fe80::1"};

    for (size_t i = 0; i < servers->hosts_len; i++) {
        const struct host *host = &servers->hosts[i];

        if (is_literal(host->name))
            servers_add_address(servers, host->name, host);
        else if (!strpbrk(host->name, " ="))
            servers_add_address(servers, addresses[(unsigned char)host->name[0] % 3], host);
    }
}

static void check_same(const struct servers *servers, const struct servers *other)
{
    MUST(servers_count(servers) == servers_count(other));
    for (unsigned int i = 0; i < servers_count(servers); i++) {
        size_t count;
        size_t others;
        const char *const *names = servers_names(servers, i, &count);
        const char *const *other_names = servers_names(other, i, &others);

        MUST(strcmp(servers_address(servers, i), servers_address(other, i)) == 0);
        MUST(count == others);
        for (size_t j = 0; j < count; j++)
            MUST(strcmp(names[j], other_names[j]) == 0);
    }
}

/* A line of addresses alone: who has one of them in it is at the same ensemble. */
static void check_place(const struct servers *servers)
{
    char *line = servers_export_addresses(servers);
    char *place = NULL;

    if (asprintf(&place, "%s/x", servers->chroot) < 0)
        abort();
    MUST(servers_same_place(servers, "/x", line, place) == (servers_count(servers) > 0));
    MUST(!servers_same_place(servers, "/y", line, place));
    MUST(!servers_same_place(servers, "/x", "", place));
    free(place);
    free(line);
}

static void check_addresses(struct servers *servers)
{
    char *fault;
    char *line;
    char *again;
    struct servers *other = servers_parse(servers_text(servers), &fault);

    MUST(other != NULL);
    resolve(servers);
    line = servers_export(servers);
    servers_import(other, line);
    again = servers_export(other);
    MUST(strcmp(line, again) == 0 && !strchr(line, '\n'));
    check_same(servers, other);
    check_connect_string(other);
    check_place(other);
    free(again);
    free(line);
    servers_free(other);
}

/* The second line of the input is what another process may send, which nobody may trust. */
static void check_line(const struct servers *servers, const char *line)
{
    servers_same_place(servers, "/x", line, "/x");
    MUST(!servers_same_place(servers, "/x", line, line) || line[0] == '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = fuzz_text(bytes, size);
    char *rest = text;
    char *first = strsep(&rest, "\n");
    char *fault = NULL;
    struct servers *servers = servers_parse(first, &fault);

    MUST((servers == NULL) == (fault != NULL));
    MUST(servers_alike(first, first) == (servers != NULL));
    if (servers) {
        MUST(strcmp(servers_text(servers), first) == 0);
        check_hosts(servers);
        check_addresses(servers);
        if (rest) {
            MUST(servers_alike(first, rest) == servers_alike(rest, first));
            check_line(servers, rest);
        }
    }
    free(fault);
    servers_free(servers);
    free(text);
    return 0;
}
