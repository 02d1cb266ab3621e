#include "ensemble/servers_state.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "base/xalloc.h"
#include "ensemble/znode.h"

/* ---- reading the connect string ---- */

static bool valid_port(const char *port)
{
    size_t len = strlen(port);
    long number = strtol(port, NULL, 10);

    return len <= 5 && strspn(port, "0123456789") == len && number >= 1 && number <= 65535;
}

/* Reads one HOST[:PORT]; returns a fault, to be freed, or NULL. */
static char *parse_host(const char *text, struct host *host)
{
    const char *colon;

    if (*text == '\0')
        return xstrdup("a server's name is empty");
    if (strpbrk(text, " \t"))
        return xasprintf("'%s' has a blank; commas separate servers", text);
    if (*text == '[') {
        const char *end = strchr(text, ']');
        struct in6_addr address;

        if (!end || (end[1] != '\0' && end[1] != ':'))
            return xasprintf("'%s' is not [IPV6-ADDRESS]:PORT", text);
        host->name = xstrndup(text + 1, (size_t)(end - text - 1));
        if (inet_pton(AF_INET6, host->name, &address) != 1)
            return xasprintf("'%s' is not an IPv6 address", host->name);
        colon = end[1] ? end + 1 : NULL;
    } else {
        colon = strchr(text, ':');
        if (colon && strchr(colon + 1, ':'))
            return xasprintf("'%s' has more than one colon; an IPv6 address is written in "
                             "brackets: [::1]:2181",
                             text);
        host->name = xstrndup(text, colon ? (size_t)(colon - text) : strlen(text));
        if (host->name[0] == '\0')
            return xasprintf("'%s' names no host", text);
    }
    host->port = colon ? xstrdup(colon + 1) : xasprintf("%d", SERVERS_DEFAULT_PORT);
    if (!valid_port(host->port))
        return xasprintf("'%s' has no valid port: 1 to 65535", text);
    return NULL;
}

struct servers *servers_parse(const char *text, char **fault)
{
    struct servers *servers = xcalloc(1, sizeof(*servers));
    char *copy = xstrdup(text);
    char *rest = text_trim(copy);
    char *chroot = strchr(rest, '/');

    *fault = NULL;
    servers->text = xstrdup(text);
    /* "host:2181/" is how some tools write "no chroot". */
    servers->chroot = xstrdup(chroot && chroot[1] ? chroot : "");
    if (chroot)
        *chroot = '\0';
    if (servers->chroot[0]) {
        const char *wrong = znode_path_fault(servers->chroot);
        const char *comma = strchr(servers->chroot, ',');

        if (strstr(text, "://"))
            *fault = xasprintf("'%s' is a URL; write HOST:PORT", text);
        else if (comma)
            *fault = xasprintf("the chroot %.*s stands once, behind the last server: "
                               "HOST:PORT,HOST:PORT%.*s",
                               (int)(comma - servers->chroot), servers->chroot,
                               (int)(comma - servers->chroot), servers->chroot);
        else if (wrong)
            *fault = xasprintf("the chroot '%s' %s", servers->chroot, wrong);
    }
    while (!*fault && rest) {
        char *one = strsep(&rest, ",");

        servers->hosts =
            xreallocarray(servers->hosts, servers->hosts_len + 1, sizeof(servers->hosts[0]));
        servers->hosts[servers->hosts_len] = (struct host){0};
        *fault = parse_host(text_trim(one), &servers->hosts[servers->hosts_len++]);
    }
    free(copy);
    if (*fault) {
        servers_free(servers);
        return NULL;
    }
    return servers;
}

static bool has_host(const struct servers *servers, const struct host *host)
{
    for (size_t i = 0; i < servers->hosts_len; i++)
        if (strcasecmp(servers->hosts[i].name, host->name) == 0 &&
            strcmp(servers->hosts[i].port, host->port) == 0)
            return true;
    return false;
}

/* Returns how many hosts of the first are among those of the other. */
static size_t count_common(const struct servers *servers, const struct servers *others)
{
    size_t count = 0;

    for (size_t i = 0; i < servers->hosts_len; i++)
        count += has_host(others, &servers->hosts[i]);
    return count;
}

/* Reads both; either may be NULL then. */
static void parse_both(const char *text, const char *other, struct servers *both[2])
{
    char *fault = NULL;

    both[0] = servers_parse(text, &fault);
    both[1] = both[0] ? servers_parse(other, &fault) : NULL;
    free(fault);
}

bool servers_alike(const char *text, const char *other)
{
    struct servers *both[2];
    bool alike;

    parse_both(text, other, both);
    alike = both[1] && strcmp(both[0]->chroot, both[1]->chroot) == 0 &&
            count_common(both[0], both[1]) > 0;
    servers_free(both[0]);
    servers_free(both[1]);
    return alike;
}

bool servers_within(const char *text, const char *all)
{
    struct servers *both[2];
    bool within;

    parse_both(text, all, both);
    within = both[1] && count_common(both[0], both[1]) == both[0]->hosts_len;
    servers_free(both[0]);
    servers_free(both[1]);
    return within;
}

const char *servers_text(const struct servers *servers)
{
    return servers->text;
}

/* ---- addresses ---- */

static struct address *find_address(const struct servers *servers, const char *literal, size_t len)
{
    for (size_t i = 0; i < servers->addresses_len; i++)
        if (strlen(servers->addresses[i].literal) == len &&
            memcmp(servers->addresses[i].literal, literal, len) == 0)
            return &servers->addresses[i];
    return NULL;
}

/* Adds a literal, which is the servers' from now on, unless it is there already; returns it. */
static struct address *take_address(struct servers *servers, char *literal)
{
    struct address *address = find_address(servers, literal, strlen(literal));

    if (address) {
        free(literal);
        return address;
    }
    servers->addresses = xreallocarray(servers->addresses, servers->addresses_len + 1,
                                       sizeof(servers->addresses[0]));
    address = &servers->addresses[servers->addresses_len++];
    *address = (struct address){.literal = literal};
    return address;
}

static void add_name(struct address *address, const char *name)
{
    address->names =
        xreallocarray(address->names, address->names_len + 1, sizeof(address->names[0]));
    address->names[address->names_len++] = xstrdup(name);
}

void servers_add_address(struct servers *servers, const char *address, const struct host *host)
{
    add_name(take_address(servers, xasprintf("%s:%s", address, host->port)), host->name);
}

void servers_forget_addresses(struct servers *servers)
{
    for (size_t i = 0; i < servers->addresses_len; i++) {
        struct address *address = &servers->addresses[i];

        while (address->names_len)
            free(address->names[--address->names_len]);
        free(address->names);
        free(address->literal);
    }
    servers->addresses_len = 0;
}

const char *servers_address(const struct servers *servers, size_t i)
{
    return servers->addresses[i].literal;
}

const char *const *servers_names(const struct servers *servers, size_t i, size_t *count)
{
    *count = servers->addresses[i].names_len;
    return (const char *const *)servers->addresses[i].names;
}

/* Lists count addresses, in a circle from this one on, with separator between them; to be freed. */
static char *list_addresses(const struct servers *servers, size_t first, size_t count,
                            const char *separator)
{
    char *list = xstrdup("");

    for (size_t i = 0; i < count; i++)
        xreplace(&list,
                 xasprintf("%s%s%s", list, i ? separator : "",
                           servers->addresses[(first + i) % servers->addresses_len].literal));
    return list;
}

/* Lists as many ports of loopback likewise. */
static char *list_ports(const uint16_t *ports, size_t ports_len, size_t first, size_t count)
{
    char *list = xstrdup("");

    for (size_t i = 0; i < count; i++)
        xreplace(&list, xasprintf("%s%s127.0.0.1:%u", list, i ? "," : "",
                                  (unsigned int)ports[(first + i) % ports_len]));
    return list;
}

char *servers_export_addresses(const struct servers *servers)
{
    return list_addresses(servers, 0, servers->addresses_len, " ");
}

/* "ADDRESS:PORT=NAME=NAME ADDRESS:PORT=NAME": names have neither blanks nor "=". */
char *servers_export(const struct servers *servers)
{
    char *line = xstrdup("");

    for (size_t i = 0; i < servers->addresses_len; i++) {
        const struct address *address = &servers->addresses[i];

        xreplace(&line, xasprintf("%s%s%s", line, i ? " " : "", address->literal));
        for (size_t j = 0; j < address->names_len; j++)
            xreplace(&line, xasprintf("%s=%s", line, address->names[j]));
    }
    return line;
}

void servers_import(struct servers *servers, const char *line)
{
    char *copy = xstrdup(line);
    char *rest = copy;

    while (rest && *rest) {
        char *names = strsep(&rest, " ");
        struct address *address = take_address(servers, xstrdup(strsep(&names, "=")));

        while (names)
            add_name(address, strsep(&names, "="));
    }
    free(copy);
}

const char *servers_chroot(const struct servers *servers)
{
    return servers->chroot;
}

bool servers_same_place(const struct servers *servers, const char *path, const char *addresses,
                        const char *other_path)
{
    size_t chroot_len = strlen(servers->chroot);

    if (strncmp(other_path, servers->chroot, chroot_len) != 0 ||
        strcmp(other_path + chroot_len, path) != 0)
        return false;
    while (*addresses) {
        size_t len = strcspn(addresses, " ");

        if (find_address(servers, addresses, len))
            return true;
        addresses += len + (addresses[len] == ' ');
    }
    return false;
}

char *servers_connect_string(const struct servers *servers, unsigned int attempt,
                             const uint16_t *ports)
{
    size_t odd = servers->addresses_len | 1;
    char *list = ports ? list_ports(ports, servers->addresses_len, attempt, odd)
                       : list_addresses(servers, attempt, odd, ",");

    xreplace(&list, xasprintf("%s%s", list, servers->chroot));
    return list;
}

unsigned int servers_count(const struct servers *servers)
{
    return (unsigned int)servers->addresses_len;
}

void servers_free(struct servers *servers)
{
    if (!servers)
        return;
    for (size_t i = 0; i < servers->hosts_len; i++) {
        free(servers->hosts[i].name);
        free(servers->hosts[i].port);
    }
    servers_forget_addresses(servers);
    free(servers->hosts);
    free(servers->addresses);
    free(servers->chroot);
    free(servers->text);
    free(servers);
}
