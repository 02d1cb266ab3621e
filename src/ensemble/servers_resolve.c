#include "ensemble/servers_state.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"

/* ---- looking a name up ---- */

/*
 * A look-up in a thread of its own, since getaddrinfo(3) takes as long as it likes.  One that takes
 * too long is left to itself.
 */
struct lookup {
    char *name;
    struct addrinfo *found;
    const char *fault; /* NULL: found */
    int done_fd;
    atomic_int users; /* the thread, and who waits for it: the last one frees it */
};

static void lookup_release(struct lookup *lookup)
{
    if (atomic_fetch_sub(&lookup->users, 1) > 1)
        return;
    if (lookup->found)
        freeaddrinfo(lookup->found);
    if (lookup->done_fd >= 0)
        close(lookup->done_fd);
    free(lookup->name);
    free(lookup);
}

/* Without a descriptor to read its files by, getaddrinfo(3) says that it does not know the name. */
static const char *why(int error)
{
    int spare;

    if (error == EAI_SYSTEM)
        return strerror(errno);
    spare = eventfd(0, EFD_CLOEXEC);
    if (spare < 0)
        return strerror(errno);
    close(spare);
    return gai_strerror(error);
}

static void *look_up(void *argument)
{
    struct lookup *lookup = argument;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const uint64_t one = 1;
    int error = getaddrinfo(lookup->name, NULL, &hints, &lookup->found);

    if (error)
        lookup->fault = why(error);
    if (write(lookup->done_fd, &one, sizeof(one)) < 0)
        abort();
    lookup_release(lookup);
    return NULL;
}

/* Returns NULL if there are too many descriptors or threads. */
static struct lookup *lookup_start(const char *name)
{
    struct lookup *lookup = xcalloc(1, sizeof(*lookup));
    pthread_t thread;

    lookup->name = xstrdup(name);
    lookup->done_fd = eventfd(0, EFD_CLOEXEC);
    atomic_init(&lookup->users, 2);
    if (lookup->done_fd < 0 || pthread_create(&thread, NULL, look_up, lookup) != 0) {
        atomic_store(&lookup->users, 1);
        lookup_release(lookup);
        return NULL;
    }
    pthread_detach(thread);
    return lookup;
}

/* ---- all names ---- */

static bool add_literal(struct servers *servers, const struct host *host)
{
    unsigned char address[sizeof(struct in6_addr)];

    if (inet_pton(AF_INET, host->name, address) != 1 &&
        inet_pton(AF_INET6, host->name, address) != 1)
        return false;
    servers_add_address(servers, host->name, host);
    return true;
}

/* Spreads clients over the servers: each starts somewhere else. */
static void shuffle(struct servers *servers)
{
    for (size_t i = servers->addresses_len; i > 1; i--) {
        struct address swap = servers->addresses[i - 1];
        uint64_t random = 0;

        if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
            random = (uint64_t)clock_now() + (uint64_t)getpid();
        servers->addresses[i - 1] = servers->addresses[random % i];
        servers->addresses[random % i] = swap;
    }
}

static void note_failure(char **failures, const struct host *host, const char *why)
{
    xreplace(failures,
             xasprintf("%s%scannot resolve the server name '%s': %s", *failures ? *failures : "",
                       *failures ? "; " : "", host->name, why));
}

/* Starts a look-up for each name that is no address. */
static void start_all(struct servers *servers, char **failures)
{
    for (size_t i = 0; i < servers->hosts_len; i++) {
        struct host *host = &servers->hosts[i];

        if (add_literal(servers, host))
            continue;
        host->lookup = lookup_start(host->name);
        if (!host->lookup)
            note_failure(failures, host, strerror(EAGAIN));
    }
}

/* Takes what was found, or why nothing was, and ends the look-up. */
static void take_found(struct servers *servers, struct host *host, char **failures)
{
    uint64_t count;

    /* This, and not poll(2), promises that what the thread has written before is seen. */
    if (read(host->lookup->done_fd, &count, sizeof(count)) < 0)
        abort();
    if (host->lookup->fault)
        note_failure(failures, host, host->lookup->fault);
    for (const struct addrinfo *ai = host->lookup->found; ai; ai = ai->ai_next) {
        char address[NI_MAXHOST];

        if (getnameinfo(ai->ai_addr, ai->ai_addrlen, address, sizeof(address), NULL, 0,
                        NI_NUMERICHOST) == 0 &&
            !strchr(address, '%'))
            servers_add_address(servers, address, host);
    }
    lookup_release(host->lookup);
    host->lookup = NULL;
}

/* Takes what is found until then; returns false if stop_fd ended that. */
static bool take_until(struct servers *servers, int64_t until, int stop_fd, char **failures)
{
    for (size_t i = 0; i < servers->hosts_len; i++) {
        struct host *host = &servers->hosts[i];

        if (!host->lookup)
            continue;

        struct pollfd fds[] = {{.fd = host->lookup->done_fd, .events = POLLIN},
                               {.fd = stop_fd, .events = POLLIN}};

        poll(fds, 2, clock_poll_timeout(until));
        if (fds[0].revents)
            take_found(servers, host, failures);
        else if (fds[1].revents)
            return false;
    }
    return true;
}

/*
 * Waits for all names for half of the time; later the first address is enough, so that some time is
 * left for finding out who answers there.  Returns false if stop_fd ended that.
 */
static bool take_all(struct servers *servers, int64_t deadline, int stop_fd, char **failures)
{
    const int64_t begun_at = clock_now();
    const int64_t slice = (deadline - begun_at) / 8;

    for (int i = 4; i <= 8; i++) {
        if (!take_until(servers, begun_at + i * slice, stop_fd, failures))
            return false;
        if (servers->addresses_len > 0)
            break;
    }
    return true;
}

int servers_resolve(struct servers *servers, int64_t deadline, int stop_fd, char **fault)
{
    char *failures = NULL;
    bool finished;

    *fault = NULL;
    servers_forget_addresses(servers);
    start_all(servers, &failures);
    finished = take_all(servers, deadline, stop_fd, &failures);
    for (size_t i = 0; i < servers->hosts_len; i++) {
        struct host *host = &servers->hosts[i];

        if (!host->lookup)
            continue;
        note_failure(&failures, host, strerror(ETIMEDOUT));
        lookup_release(host->lookup);
        host->lookup = NULL;
    }
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
