/*
 * Connects the client library, which has no TLS, to servers by TLS.  The relay opens a port on
 * loopback for each server, and its thread forwards each connection of the library to that server
 * by TLS.  Both connections end together, so that leaving a server works as without TLS.
 *
 * Only the library may use the ports: the relay at once closes a connection whose other end is not
 * a socket of the library.
 */
#ifndef ZKFLOCK_RELAY_H
#define ZKFLOCK_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "ensemble/servers.h"
#include "ensemble/tls.h"
#include "ensemble/trouble.h"

struct relay;

/*
 * Opens a port for each address of the resolved servers, and starts the thread, which inherits the
 * signal mask.  It tells trouble how each connection ends.  All three must live as long as the
 * relay.  Returns NULL with errno on failure.
 */
struct relay *relay_start(const struct tls *tls, const struct servers *servers,
                          struct trouble *trouble);

/* Returns the ports, in the order of the servers' addresses. */
const uint16_t *relay_ports(const struct relay *relay);

/*
 * Ends the thread and all connections, and frees the relay.  keep_ports: the library may connect
 * once more, and must not find another process there.  NULL is allowed.
 */
void relay_end(struct relay *relay, bool keep_ports);

/*
 * Breaks off all connections, perhaps because of a server's silence.  Returns false if there was
 * none; NULL has none.
 */
bool relay_cut(struct relay *relay, bool silence);

#endif
