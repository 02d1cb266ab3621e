/*
 * The way of a session through TLS: the client library connects to a port of this process on
 * loopback, one for each server, and a thread passes what it says on to that server by TLS, and
 * back.  Both connections end together, so that leaving a server works as without TLS.
 *
 * Only the library may use the ports: a connection whose other end is none of its sockets is closed
 * at once.
 */
#ifndef ZKFLOCK_RELAY_H
#define ZKFLOCK_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "ensemble/servers.h"
#include "ensemble/tls.h"

struct relay;

/*
 * Called in the relay's thread: why a server could not be used, a clause without an end.  error:
 * the errno of a call that failed, or 0.
 */
typedef void relay_trouble(void *context, const char *text, int error);

/*
 * Opens a port for each address of the resolved servers, and starts the thread, which inherits the
 * signal mask.  tls and servers have to live as long.  Returns NULL with errno.
 */
struct relay *relay_start(const struct tls *tls, const struct servers *servers,
                          relay_trouble *trouble, void *context);

/* The ports, in the order of the servers' addresses. */
const uint16_t *relay_ports(const struct relay *relay);

/*
 * Asks the thread to end.  A server can hold it in OpenSSL until its connection is shut down: that
 * is to be done between this call and relay_end().  NULL is allowed.
 */
void relay_stop(struct relay *relay);

/*
 * Waits for the thread after relay_stop(), ends all connections and frees the relay.  keep_ports:
 * the library may connect once more, and must not find another process there.  NULL is allowed.
 */
void relay_end(struct relay *relay, bool keep_ports);

#endif
