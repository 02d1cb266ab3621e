/*
 * Between the client library and the kernel: see wire.c.
 */
#ifndef ZKFLOCK_WIRE_H
#define ZKFLOCK_WIRE_H

#include <stdbool.h>
#include <sys/socket.h>

/*
 * Has threads that begin a connection wait until wire_go_on(), which the same thread calls soon.  A
 * new handle connects at once, by a thread of its own, and takes no credentials any more once that
 * has failed.  Without effect on the shared library.
 */
void wire_hold(void);
void wire_go_on(void);

/*
 * Returns whether the client library may have made this connection, which is open: the shared
 * library, which is not seen here, may have made any.  In any thread.
 */
bool wire_may_be_of_library(int fd);

/* connect(2) for the relay of TLS: its connections to servers are none of the client library's. */
int wire_connect_relay(int fd, const struct sockaddr *address, socklen_t len);

#endif
