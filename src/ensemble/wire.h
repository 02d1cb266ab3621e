/*
 * The layer between the client library and the kernel; see wire.c.
 */
#ifndef ZKFLOCK_WIRE_H
#define ZKFLOCK_WIRE_H

#include <stdbool.h>
#include <sys/socket.h>

/*
 * Makes threads that begin a connection wait until wire_go_on(), which the same thread must call
 * soon.  Needed because a new handle connects at once in a thread of its own, and takes no more
 * credentials once that has failed.  Has no effect on the shared library.
 */
void wire_hold(void);
void wire_go_on(void);

/*
 * Returns true if the client library may have made this open connection.  The connections of the
 * shared library are not seen here, so it may have made any.  May be called in any thread.
 */
bool wire_may_be_of_library(int fd);

/* connect(2) for the relay of TLS: its connections to servers are none of the client library's. */
int wire_connect_relay(int fd, const struct sockaddr *address, socklen_t len);

#endif
