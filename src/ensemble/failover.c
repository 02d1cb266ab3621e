#include "ensemble/failover.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "ensemble/wire.h"

/* The library does not tell when it has begun to shake hands. */
#define HANDSHAKE_LOOK (200 * CLOCK_MS)

enum { DOUBLINGS_MAX = 5 };

void failover_init(struct failover *failover, struct trouble *trouble, struct relay *relay)
{
    struct pollfd fds[FAILOVER_FDS];
    struct rlimit limit;

    *failover = (struct failover){
        .patience = CLOCK_NEVER, .fds = FAILOVER_FDS, .trouble = trouble, .relay = relay};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FAILOVER_FDS)
        failover->fds = (int)limit.rlim_cur; /* poll takes no more */
    for (int fd = 0; fd < failover->fds; fd++)
        fds[fd] = (struct pollfd){.fd = fd};
    /* One call that finds out which are open. */
    if (poll(fds, (nfds_t)failover->fds, 0) < 0)
        failover->fds = 0;
    for (int fd = 0; fd < failover->fds; fd++)
        if (!(fds[fd].revents & POLLNVAL))
            FD_SET(fd, &failover->foreign);
}

/*
 * Another descriptor for the same, to be closed if it is another: the library's thread may close
 * the socket, and its number may be taken again.  Without a free descriptor that is risked: at
 * worst the connection after it is lost.  -1: not open.
 */
static int hold_open(int fd)
{
    int duplicate = fcntl(fd, F_DUPFD_CLOEXEC, 0);

    return duplicate < 0 && (errno == EMFILE || errno == EINVAL) ? fd : duplicate;
}

/* Returns whether the descriptor is a socket that leads to this server. */
static bool leads_to(int fd, const struct sockaddr_storage *server)
{
    struct sockaddr_storage peer = {0};
    socklen_t len = sizeof(peer);

    return getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
           memcmp(&peer, server, sizeof(peer)) == 0;
}

/* Returns whether it is a connection by IP, or becomes one. */
static bool leads_to_a_network(int fd)
{
    struct sockaddr_storage own = {0};
    socklen_t len = sizeof(own);
    int listens = 0;
    socklen_t listens_len = sizeof(listens);

    return getsockname(fd, (struct sockaddr *)&own, &len) == 0 &&
           (own.ss_family == AF_INET || own.ss_family == AF_INET6) &&
           getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_len) == 0 && !listens;
}

/*
 * Returns whether it may be a socket of the library, also one that asks a server by four letters.
 * The relay's are left to the relay, which knows which belong together.
 */
static bool may_be_of_library(const struct failover *failover, int fd)
{
    return !FD_ISSET(fd, &failover->foreign) && (!failover->relay || wire_may_be_of_library(fd));
}

/*
 * Shuts down the library's socket to this server, or for NULL all of its sockets, and first the
 * relay's.  Returns false if there was no connection.
 */
static bool cut(struct failover *failover, const struct sockaddr_storage *server, bool silence)
{
    bool done;

    silence = trouble_cut(failover->trouble, silence); /* before the end can be told */
    /* By a relay the library may have found the end already, and closed its socket. */
    done = relay_cut(failover->relay, silence) && server;
    for (int fd = 0; fd < failover->fds && !(server && done); fd++) {
        int duplicate = may_be_of_library(failover, fd) ? hold_open(fd) : -1;

        if (duplicate < 0)
            continue;
        if (server ? leads_to(duplicate, server) : leads_to_a_network(duplicate))
            done |= shutdown(duplicate, SHUT_RDWR) == 0 && wire_may_be_of_library(fd);
        if (duplicate != fd)
            close(duplicate);
    }
    if (!done)
        trouble_not_cut(failover->trouble);
    return done;
}

bool failover_cut(struct failover *failover, bool silence)
{
    return cut(failover, NULL, silence);
}

bool failover_leave(struct failover *failover, zhandle_t *handle, bool silence)
{
    struct sockaddr_storage server = {0};
    socklen_t len = sizeof(server);

    if (!zookeeper_get_connected_host(handle, (struct sockaddr *)&server, &len))
        return false; /* it is not connected: it has gone on by itself */
    return cut(failover, &server, silence);
}

/*
 * Makes fd a connection from which nothing comes, and to which nothing can be written.  Returns the
 * other end, or -1.
 */
static int replace_by_silent_socket(int fd)
{
    int ends[2];
    bool done;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return -1;
    done = shutdown(ends[1], SHUT_RD) == 0 && dup3(ends[0], fd, O_CLOEXEC) == fd;
    close(ends[0]);
    if (done)
        return ends[1];
    close(ends[1]);
    return -1;
}

int failover_take(struct failover *failover, zhandle_t *handle, int *silent)
{
    struct sockaddr_storage server = {0};
    socklen_t len = sizeof(server);

    if (!zookeeper_get_connected_host(handle, (struct sockaddr *)&server, &len))
        return -1;
    for (int fd = 0; fd < failover->fds; fd++) {
        int taken =
            FD_ISSET(fd, &failover->foreign) ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

        if (taken < 0)
            continue;
        if (taken < FAILOVER_FDS && leads_to(taken, &server) &&
            (*silent = replace_by_silent_socket(fd)) >= 0) {
            FD_SET(taken, &failover->foreign); /* not to be cut */
            return taken;
        }
        close(taken);
    }
    return -1;
}

int64_t failover_watch_handshake(struct failover *failover, zhandle_t *handle,
                                 int64_t first_patience)
{
    int64_t now = clock_now();
    unsigned int doublings =
        failover->handshakes < DOUBLINGS_MAX ? failover->handshakes : DOUBLINGS_MAX;
    int64_t patience = first_patience << doublings;

    if (zoo_state(handle) != ZOO_ASSOCIATING_STATE) {
        failover->handshake_since = 0;
        return now + HANDSHAKE_LOOK;
    }
    if (failover->handshake_since == 0)
        failover->handshake_since = now;
    if (now < failover->handshake_since + patience)
        return failover->handshake_since + patience;
    log_info("the server does not answer; trying again");
    failover->handshakes++;
    failover->handshake_since = 0;
    failover_cut(failover, true);
    return now + HANDSHAKE_LOOK;
}

void failover_connected(struct failover *failover)
{
    failover->handshake_since = 0;
    failover->handshakes = 0;
}

int64_t failover_tick(struct failover *failover, zhandle_t *handle, int64_t oldest_sent)
{
    int64_t due = clock_add(oldest_sent, failover->patience);
    int64_t again = clock_add(failover->last, clock_add(failover->patience, failover->patience));

    if (failover->last && again > due)
        due = again;
    if (clock_now() < due)
        return due;
    failover->last = clock_now();
    log_info("the server does not answer; turning to another");
    failover_leave(failover, handle, true);
    return CLOCK_NEVER;
}
