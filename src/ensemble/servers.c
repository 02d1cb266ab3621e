#include "ensemble/servers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "ensemble/lookup.h"
#include "ensemble/znode.h"

struct host {
    char *name;
    char *port;
};

struct servers {
    char *text;
    char *chroot;
    struct host *hosts;
    size_t hosts_len;
    char **addresses; /* "ADDRESS:PORT", the port last even for IPv6 */
    size_t addresses_len;
    bool warned; /* of names that cannot be resolved */
};

/* ---- reading the connect string ---- */

static bool valid_port(const char *port)
{
    size_t len = strlen(port);

    if (len == 0 || len > 5 || strspn(port, "0123456789") != len)
        return false;

    long number = strtol(port, NULL, 10);

    return number >= 1 && number <= 65535;
}

/* One HOST[:PORT]; returns a fault or NULL. */
static char *parse_host(const char *text, struct host *host)
{
    const char *colon;

    if (*text == '\0')
        return xstrdup("a server's name is empty");
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

        if (comma)
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

static bool share_host(const struct servers *servers, const struct servers *others)
{
    for (size_t i = 0; i < servers->hosts_len; i++)
        for (size_t j = 0; j < others->hosts_len; j++)
            if (strcasecmp(servers->hosts[i].name, others->hosts[j].name) == 0 &&
                strcmp(servers->hosts[i].port, others->hosts[j].port) == 0)
                return true;
    return false;
}

bool servers_alike(const char *text, const char *other)
{
    char *fault = NULL;
    struct servers *one = servers_parse(text, &fault);
    struct servers *two = one ? servers_parse(other, &fault) : NULL;
    bool alike = two && strcmp(one->chroot, two->chroot) == 0 && share_host(one, two);

    free(fault);
    servers_free(one);
    servers_free(two);
    return alike;
}

const char *servers_text(const struct servers *servers)
{
    return servers->text;
}

/* ---- looking names up ---- */

static void add_address(struct servers *servers, const char *address, const char *port)
{
    char *literal = xasprintf("%s:%s", address, port);

    for (size_t i = 0; i < servers->addresses_len; i++) {
        if (strcmp(servers->addresses[i], literal) == 0) {
            free(literal);
            return;
        }
    }
    servers->addresses = xreallocarray(servers->addresses, servers->addresses_len + 1,
                                       sizeof(servers->addresses[0]));
    servers->addresses[servers->addresses_len++] = literal;
}

static bool add_literal(struct servers *servers, const struct host *host)
{
    unsigned char address[sizeof(struct in6_addr)];

    if (inet_pton(AF_INET, host->name, address) != 1 &&
        inet_pton(AF_INET6, host->name, address) != 1)
        return false;
    add_address(servers, host->name, host->port);
    return true;
}

/*
 * Returns 0 and adds what was found; or an error of getaddrinfo(3), EAI_SYSTEM with errno.
 * EINTR: stop_fd became readable.
 */
static int take_found(struct servers *servers, const struct host *host, const struct lookup *lookup,
                      int64_t deadline, int stop_fd)
{
    int error = lookup_wait(lookup, deadline, stop_fd);

    for (const struct addrinfo *ai = error ? NULL : lookup_found(lookup); ai; ai = ai->ai_next) {
        char address[NI_MAXHOST];

        if (getnameinfo(ai->ai_addr, ai->ai_addrlen, address, sizeof(address), NULL, 0,
                        NI_NUMERICHOST) == 0 &&
            !strchr(address, '%'))
            add_address(servers, address, host->port);
    }
    return error;
}

static size_t random_below(size_t bound)
{
    uint64_t value = 0;

    if (getrandom(&value, sizeof(value), GRND_NONBLOCK) < 0)
        value = (uint64_t)clock_now() + (uint64_t)getpid();
    return (size_t)(value % bound);
}

/* Clients spread over the servers only if each starts somewhere else. */
static void shuffle(struct servers *servers)
{
    for (size_t i = servers->addresses_len; i > 1; i--) {
        size_t j = random_below(i);
        char *swap = servers->addresses[i - 1];

        servers->addresses[i - 1] = servers->addresses[j];
        servers->addresses[j] = swap;
    }
}

static void forget_addresses(struct servers *servers)
{
    for (size_t i = 0; i < servers->addresses_len; i++)
        free(servers->addresses[i]);
    servers->addresses_len = 0;
}

static void note_failure(char **failures, const struct host *host, const char *why)
{
    xreplace(failures,
             xasprintf("%s%scannot resolve the server name '%s': %s", *failures ? *failures : "",
                       *failures ? "; " : "", host->name, why));
}

/* Asks for all names at once; those that are not answered are left to themselves. */
static struct lookup **start_all(struct servers *servers, char **failures)
{
    struct lookup **lookups = xcalloc(servers->hosts_len, sizeof(struct lookup *));

    for (size_t i = 0; i < servers->hosts_len; i++) {
        const struct host *host = &servers->hosts[i];

        if (add_literal(servers, host))
            continue;
        lookups[i] = lookup_start(host->name);
        if (!lookups[i])
            note_failure(failures, host, strerror(errno));
    }
    return lookups;
}

/* Takes what is found until then; returns whether it was not stopped. */
static bool take_until(struct servers *servers, struct lookup **lookups, int64_t until, int stop_fd,
                       char **failures)
{
    for (size_t i = 0; i < servers->hosts_len; i++) {
        const struct host *host = &servers->hosts[i];

        if (!lookups[i])
            continue;

        int error = take_found(servers, host, lookups[i], until, stop_fd);

        if (error == EAI_SYSTEM && errno == EINTR)
            return false;
        if (error == EAI_SYSTEM && errno == ETIMEDOUT)
            continue;
        if (error)
            note_failure(failures, host,
                         error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
        lookup_release(lookups[i]);
        lookups[i] = NULL;
    }
    return true;
}

/*
 * Half of the time is for all names; later the first address is enough, so that some time is left
 * for finding out who answers there.  Returns whether it was not stopped.
 */
static bool take_all(struct servers *servers, struct lookup **lookups, int64_t deadline,
                     int stop_fd, char **failures)
{
    const int64_t begun_at = clock_now();
    const int64_t slice = (deadline - begun_at) / 8;

    for (int i = 4; i <= 8; i++) {
        if (!take_until(servers, lookups, begun_at + i * slice, stop_fd, failures))
            return false;
        if (servers->addresses_len > 0)
            break;
    }
    for (size_t i = 0; i < servers->hosts_len; i++)
        if (lookups[i])
            note_failure(failures, &servers->hosts[i], strerror(ETIMEDOUT));
    return true;
}

int servers_resolve(struct servers *servers, int64_t deadline, int stop_fd, char **fault)
{
    struct lookup **lookups;
    char *failures = NULL;
    bool finished;

    *fault = NULL;
    forget_addresses(servers);
    lookups = start_all(servers, &failures);
    finished = take_all(servers, lookups, deadline, stop_fd, &failures);
    for (size_t i = 0; i < servers->hosts_len; i++)
        if (lookups[i])
            lookup_release(lookups[i]);
    free(lookups);
    if (!finished) {
        free(failures);
        return -1;
    }
    if (servers->addresses_len == 0) {
        *fault = failures ? failures : xstrdup("the servers' names stand for no address");
        return -1;
    }
    if (failures && !servers->warned)
        log_warning("%s", failures);
    servers->warned = failures != NULL;
    free(failures);
    shuffle(servers);
    return 0;
}

char *servers_export_addresses(const struct servers *servers)
{
    char *line = xstrdup("");

    for (size_t i = 0; i < servers->addresses_len; i++) {
        char *longer = xasprintf("%s%s%s", line, i ? " " : "", servers->addresses[i]);

        free(line);
        line = longer;
    }
    return line;
}

void servers_import_addresses(struct servers *servers, const char *line)
{
    while (*line) {
        size_t len = strcspn(line, " ");

        servers->addresses = xreallocarray(servers->addresses, servers->addresses_len + 1,
                                           sizeof(servers->addresses[0]));
        servers->addresses[servers->addresses_len++] = xstrndup(line, len);
        line += len + (line[len] == ' ');
    }
}

const char *servers_chroot(const struct servers *servers)
{
    return servers->chroot;
}

static bool has_address(const struct servers *servers, const char *address, size_t len)
{
    for (size_t i = 0; i < servers->addresses_len; i++)
        if (strlen(servers->addresses[i]) == len &&
            memcmp(servers->addresses[i], address, len) == 0)
            return true;
    return false;
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

        if (has_address(servers, addresses, len))
            return true;
        addresses += len + (addresses[len] == ' ');
    }
    return false;
}

char *servers_connect_string(const struct servers *servers, unsigned int attempt)
{
    size_t count = servers->addresses_len;
    size_t total = count | 1;
    char *list = xstrdup("");

    for (size_t i = 0; i < total; i++) {
        char *longer =
            xasprintf("%s%s%s", list, i ? "," : "", servers->addresses[(i + attempt) % count]);

        free(list);
        list = longer;
    }

    char *all = xasprintf("%s%s", list, servers->chroot);

    free(list);
    return all;
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
    forget_addresses(servers);
    free(servers->hosts);
    free(servers->addresses);
    free(servers->chroot);
    free(servers->text);
    free(servers);
}
