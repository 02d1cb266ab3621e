#include "ensemble/close_request.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <zookeeper/proto.h>

/* The RequestHeader of zookeeper.jute, behind its length. */
struct request {
    uint32_t length;
    uint32_t xid;
    uint32_t type;
};

void close_request_send(int connection)
{
    const struct request request = {.length = htonl(sizeof(request) - sizeof(request.length)),
                                    .xid = htonl(INT32_MAX),
                                    .type = htonl((uint32_t)ZOO_CLOSE_OP)};
    char unread[4096];

    /* With unread data close(2) resets the connection, which could overtake the request. */
    while (recv(connection, unread, sizeof(unread), MSG_DONTWAIT) > 0)
        ;
    send(connection, &request, sizeof(request), MSG_NOSIGNAL);
    shutdown(connection, SHUT_WR);
    close(connection);
}
