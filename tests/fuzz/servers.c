/*
 * Connect strings.  What is taken has hosts with ports and a sound chroot, and is like itself.  Its
 * addresses go to another process and come back the same; the client library gets an odd number of
 * them, in front of the chroot, and each of them for some attempt is the first.
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
        MUST(servers_names(servers, i, &names) && names > 0);
        free(local);
        free(text);
    }
    free(ports);
}

/* Resolves addresses as servers_resolve() does, which has no name to look up here. */
static void resolve(struct servers *servers)
{
    for (size_t i = 0; i < servers->hosts_len; i++)
        if (is_literal(servers->hosts[i].name))
            servers_add_address(servers, servers->hosts[i].name, &servers->hosts[i]);
}

static void check_addresses(struct servers *servers)
{
    char *fault;
    char *line;
    char *again;
    struct servers *other = servers_parse(servers_text(servers), &fault);
    char *place = NULL;

    MUST(other != NULL);
    resolve(servers);
    line = servers_export_addresses(servers);
    servers_import_addresses(other, line);
    again = servers_export_addresses(other);
    MUST(strcmp(line, again) == 0 && servers_count(other) == servers_count(servers));
    if (servers_count(servers) > 0) {
        check_connect_string(other);
        if (asprintf(&place, "%s/x", servers->chroot) < 0)
            abort();
        MUST(servers_same_place(other, "/x", line, place));
        MUST(!servers_same_place(other, "/y", line, place));
        MUST(!servers_same_place(other, "/x", "", place));
        free(place);
    }
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
