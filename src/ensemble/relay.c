#include "ensemble/relay.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "ensemble/fault.h"
#include "ensemble/passage.h"
#include "ensemble/wire.h"

/* The library has one connection, and sometimes another one for a moment. */
enum { PASSAGES_MAX = 8 };

/*
 * Any process can connect to a port, and must not keep the library out.  BACKLOG connections may
 * wait to be accepted; the relay accepts CONNECTIONS_A_TURN of them before it serves others.
 */
enum { BACKLOG = 64, CONNECTIONS_A_TURN = 16 };

/* After accept(2) has failed for lack of descriptors or memory, the relay waits for so long. */
#define REST (100 * CLOCK_MS)

/* The way to one server. */
struct gate {
    int listener;
    struct sockaddr_storage server;
    socklen_t server_len;
    const char *const *names;
    size_t names_len;
    char *name; /* for messages */
};

struct relay {
    const struct tls *tls;
    struct trouble *trouble;
    pthread_t thread;
    bool started;
    int end_fd; /* readable when the thread is to end */
    struct gate *gates;
    uint16_t *ports;
    size_t gates_len;
    pthread_mutex_t mutex; /* of changes to what follows, which the thread alone makes */
    bool ending;           /* a new passage is cut at once */
    struct {
        struct passage *passage;
        const struct gate *gate;
        bool silent; /* it has been cut because of that */
    } under_way[PASSAGES_MAX];
    size_t under_way_len;
    int64_t accept_at; /* not before */
};

/* ---- taking the library's connections ---- */

static bool is_same(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
    return a->sin_family == AF_INET && b->sin_family == AF_INET && a->sin_port == b->sin_port &&
           a->sin_addr.s_addr == b->sin_addr.s_addr;
}

/* Reads the addresses of both ends; returns false if fd is no connection. */
static bool read_ends(int fd, struct sockaddr_in *own, struct sockaddr_in *peer)
{
    socklen_t own_len = sizeof(*own);
    socklen_t peer_len = sizeof(*peer);

    return getsockname(fd, (struct sockaddr *)own, &own_len) == 0 &&
           getpeername(fd, (struct sockaddr *)peer, &peer_len) == 0;
}

/*
 * Returns true if the other end of a connection is a socket of the client library.  Compares both
 * addresses, because another process may connect from the library's port to another gate.  Sets
 * *error to an errno if it could not find out, else to 0.
 */
static bool is_of_library(int connection, int *error)
{
    struct sockaddr_in here = {0};
    struct sockaddr_in there = {0};
    bool found = false;
    DIR *fds = opendir("/proc/self/fd");

    *error = fds ? 0 : errno;
    if (!fds)
        return false;
    if (read_ends(connection, &here, &there)) {
        for (const struct dirent *entry; !found && (entry = readdir(fds));) {
            struct sockaddr_in own = {0};
            struct sockaddr_in peer = {0};
            int fd = (int)strtol(entry->d_name, NULL, 10);

            /* A descriptor that zkflock was started with may be another process's, too. */
            found = entry->d_name[0] != '.' && wire_may_be_of_library(fd) &&
                    read_ends(fd, &own, &peer) && is_same(&own, &there) && is_same(&peer, &here);
        }
    }
    closedir(fds);
    return found;
}

/* Tells how a passage through this gate is over. */
static void tell(const struct relay *relay, const struct gate *gate, const struct passage_end *end)
{
    char text[TROUBLE_SIZE];

    snprintf(text, sizeof(text), "%s %s", gate->name, end->why);
    trouble_note(relay->trouble, end->kind, end->kind == TROUBLE_LOCAL ? end->why : text);
}

/* Tells why no connection to the server of this gate could be begun. */
static void tell_of_start(const struct relay *relay, const struct gate *gate, int error)
{
    char why[TLS_WHY_SIZE];
    struct passage_end end = {TROUBLE_LOCAL, strerror(error), false};

    if (!fault_is_lack(error)) {
        snprintf(why, sizeof(why), "cannot be reached: %s", end.why);
        end = (struct passage_end){TROUBLE_NO_CONTACT, why, false};
    }
    tell(relay, gate, &end);
}

/* Starts a passage if the other end is the library; otherwise closes local. */
static void let_in(struct relay *relay, const struct gate *gate, int local)
{
    struct passage *passage;
    char why[TROUBLE_SIZE];
    int error;

    if (!is_of_library(local, &error) || relay->under_way_len == PASSAGES_MAX) {
        if (error) {
            snprintf(why, sizeof(why), "/proc/self/fd cannot be read: %s", strerror(error));
            trouble_note(relay->trouble, TROUBLE_LOCAL, why);
        }
        close(local);
        return;
    }
    passage = passage_new(relay->tls, local, (const struct sockaddr *)&gate->server,
                          gate->server_len, gate->names, gate->names_len);
    if (!passage) {
        tell_of_start(relay, gate, errno);
        return;
    }
    pthread_mutex_lock(&relay->mutex);
    relay->under_way[relay->under_way_len].passage = passage;
    relay->under_way[relay->under_way_len].silent = false;
    relay->under_way[relay->under_way_len++].gate = gate;
    if (relay->ending)
        passage_cut(passage);
    pthread_mutex_unlock(&relay->mutex);
}

static void take_connections(struct relay *relay, const struct gate *gate)
{
    for (int i = 0; i < CONNECTIONS_A_TURN; i++) {
        int local = accept4(gate->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (local >= 0) {
            let_in(relay, gate, local);
        } else if (errno != ECONNABORTED) {
            if (errno != EAGAIN) {
                trouble_note(relay->trouble, TROUBLE_LOCAL, strerror(errno));
                relay->accept_at = clock_now() + REST;
            }
            return;
        }
    }
}

/* ---- passing on ---- */

/* Continues a passage, and frees it when it is over. */
static void pass(struct relay *relay, size_t i, const struct pollfd *fds)
{
    struct passage *passage = relay->under_way[i].passage;
    const struct gate *gate = relay->under_way[i].gate;
    struct passage_end end;
    bool silent;

    if (passage_go(passage, fds, &end))
        return;
    pthread_mutex_lock(&relay->mutex);
    silent = relay->under_way[i].silent;
    relay->under_way[i] = relay->under_way[--relay->under_way_len];
    pthread_mutex_unlock(&relay->mutex);
    if (!end.left || silent || trouble_take_timeout(relay->trouble))
        tell(relay, gate, &end);
    passage_free(passage);
}

static void *run(void *argument)
{
    struct relay *relay = argument;
    size_t gates = relay->gates_len;
    struct pollfd *fds = xcalloc(1 + gates + (size_t)PASSAGES_MAX * PASSAGE_FDS, sizeof(fds[0]));

    fds[0] = (struct pollfd){.fd = relay->end_fd, .events = POLLIN};
    for (;;) {
        struct pollfd *of_passages = fds + 1 + gates;
        size_t count = relay->under_way_len;
        bool rests = clock_now() < relay->accept_at;
        int64_t until = rests ? relay->accept_at : CLOCK_NEVER;

        for (size_t i = 0; i < gates; i++)
            fds[1 + i] =
                (struct pollfd){.fd = rests ? -1 : relay->gates[i].listener, .events = POLLIN};
        for (size_t i = 0; i < count; i++)
            until = clock_earlier(
                until, passage_wait(relay->under_way[i].passage, of_passages + i * PASSAGE_FDS));
        if (poll(fds, 1 + gates + count * PASSAGE_FDS, clock_poll_timeout(until)) < 0)
            continue;
        if (fds[0].revents)
            break;
        /* From the last: one that is over is replaced by the last. */
        for (size_t i = count; i-- > 0;)
            pass(relay, i, of_passages + i * PASSAGE_FDS);
        for (size_t i = 0; i < gates; i++)
            if (fds[1 + i].revents)
                take_connections(relay, &relay->gates[i]);
    }
    pthread_mutex_lock(&relay->mutex);
    while (relay->under_way_len)
        passage_free(relay->under_way[--relay->under_way_len].passage);
    pthread_mutex_unlock(&relay->mutex);
    free(fds);
    return NULL;
}

/* ---- start and end ---- */

/* Parses ADDRESS:PORT. */
static void take_literal(struct gate *gate, const char *literal)
{
    const char *colon = strrchr(literal, ':');
    char *address = xstrndup(literal, (size_t)(colon - literal));
    in_port_t port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    struct sockaddr_in *v4 = (struct sockaddr_in *)&gate->server;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&gate->server;

    if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = port;
        gate->server_len = sizeof(*v4);
    } else {
        inet_pton(AF_INET6, address, &v6->sin6_addr);
        v6->sin6_family = AF_INET6;
        v6->sin6_port = port;
        gate->server_len = sizeof(*v6);
    }
    gate->name = xasprintf(v6->sin6_family == AF_INET6 ? "[%s]%s" : "%s%s", address, colon);
    free(address);
}

/* Opens a port of loopback.  Returns its number, or 0 with errno. */
static uint16_t open_gate(struct gate *gate)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);

    gate->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (gate->listener < 0 ||
        bind(gate->listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(gate->listener, BACKLOG) < 0 ||
        getsockname(gate->listener, (struct sockaddr *)&address, &len) < 0)
        return 0;
    return ntohs(address.sin_port);
}

struct relay *relay_start(const struct tls *tls, const struct servers *servers,
                          struct trouble *trouble)
{
    struct relay *relay = xcalloc(1, sizeof(*relay));
    int error;

    pthread_mutex_init(&relay->mutex, NULL);
    relay->tls = tls;
    relay->trouble = trouble;
    relay->end_fd = eventfd(0, EFD_CLOEXEC);
    relay->gates_len = servers_count(servers);
    relay->gates = xcalloc(relay->gates_len, sizeof(relay->gates[0]));
    relay->ports = xcalloc(relay->gates_len, sizeof(relay->ports[0]));
    for (size_t i = 0; i < relay->gates_len; i++)
        relay->gates[i].listener = -1;
    for (size_t i = 0; i < relay->gates_len; i++) {
        struct gate *gate = &relay->gates[i];

        take_literal(gate, servers_address(servers, i));
        gate->names = servers_names(servers, i, &gate->names_len);
        relay->ports[i] = open_gate(gate);
        if (!relay->ports[i])
            goto failed;
    }
    if (relay->end_fd < 0)
        goto failed;
    error = pthread_create(&relay->thread, NULL, run, relay);
    if (error == 0) {
        relay->started = true;
        return relay;
    }
    errno = error;
failed:
    error = errno;
    relay_end(relay, false);
    errno = error;
    return NULL;
}

const uint16_t *relay_ports(const struct relay *relay)
{
    return relay->ports;
}

bool relay_cut(struct relay *relay, bool silence)
{
    bool any;

    if (!relay)
        return false;
    pthread_mutex_lock(&relay->mutex);
    for (size_t i = 0; i < relay->under_way_len; i++) {
        relay->under_way[i].silent |= silence;
        passage_cut(relay->under_way[i].passage);
    }
    any = relay->under_way_len > 0;
    pthread_mutex_unlock(&relay->mutex);
    return any;
}

/* A server can hold the thread in OpenSSL until its connection is cut. */
static void stop(struct relay *relay)
{
    const uint64_t one = 1;

    pthread_mutex_lock(&relay->mutex);
    relay->ending = true;
    pthread_mutex_unlock(&relay->mutex);
    relay_cut(relay, false);
    if (write(relay->end_fd, &one, sizeof(one)) < 0)
        abort(); /* cannot happen: the counter would have to reach 2^64 */
    pthread_join(relay->thread, NULL);
}

void relay_end(struct relay *relay, bool keep_ports)
{
    if (!relay)
        return;
    if (relay->started)
        stop(relay);
    for (size_t i = 0; i < relay->gates_len; i++)
        if (relay->gates[i].listener >= 0 && !keep_ports)
            close(relay->gates[i].listener);
    if (relay->end_fd >= 0)
        close(relay->end_fd);
    for (size_t i = 0; i < relay->gates_len; i++)
        free(relay->gates[i].name);
    pthread_mutex_destroy(&relay->mutex);
    free(relay->gates);
    free(relay->ports);
    free(relay);
}
