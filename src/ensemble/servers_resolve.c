#include "ensemble/servers_state.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "ensemble/lookup.h"

static bool add_literal(struct servers *servers, const struct host *host)
{
    unsigned char address[sizeof(struct in6_addr)];

    if (inet_pton(AF_INET, host->name, address) != 1 &&
        inet_pton(AF_INET6, host->name, address) != 1)
        return false;
    servers_add_address(servers, host->name, host->port);
    return true;
}

/* Adds what was found and returns 0, or an error of lookup_wait(). */
static int take_found(struct servers *servers, const struct host *host, const struct lookup *lookup,
                      int64_t deadline, int stop_fd)
{
    int error = lookup_wait(lookup, deadline, stop_fd);

    for (const struct addrinfo *ai = error ? NULL : lookup_found(lookup); ai; ai = ai->ai_next) {
        char address[NI_MAXHOST];

        if (getnameinfo(ai->ai_addr, ai->ai_addrlen, address, sizeof(address), NULL, 0,
                        NI_NUMERICHOST) == 0 &&
            !strchr(address, '%'))
            servers_add_address(servers, address, host->port);
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

/* Spreads clients over the servers: each starts somewhere else. */
static void shuffle(struct servers *servers)
{
    for (size_t i = servers->addresses_len; i > 1; i--) {
        size_t j = random_below(i);
        char *swap = servers->addresses[i - 1];

        servers->addresses[i - 1] = servers->addresses[j];
        servers->addresses[j] = swap;
    }
}

static void note_failure(char **failures, const struct host *host, const char *why)
{
    xreplace(failures,
             xasprintf("%s%scannot resolve the server name '%s': %s", *failures ? *failures : "",
                       *failures ? "; " : "", host->name, why));
}

/* Starts a look-up for each name that is no address; NULL where there is none. */
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

/* Takes what is found until then; returns false if stop_fd ended that. */
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
 * Waits for all names for half of the time; later the first address is enough, so that some time is
 * left for finding out who answers there.  Returns false if stop_fd ended that.
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
    servers_forget_addresses(servers);
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
        *fault = failures ? failures : xstrdup("the servers' names resolve to no address");
        return -1;
    }
    if (failures && !servers->warned)
        log_warning("%s", failures);
    servers->warned = failures != NULL;
    free(failures);
    shuffle(servers);
    return 0;
}
