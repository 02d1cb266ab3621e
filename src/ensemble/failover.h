/*
 * Leaving a server that holds the connection and does not answer: one that is stopped, or cut off
 * from its ensemble, or behind a network that drops packets.
 *
 * The client library has no call for this, and to close its handle would end the session.  So its
 * socket is shut down, which it takes for a connection lost, and goes to the next server.
 */
#ifndef ZKFLOCK_FAILOVER_H
#define ZKFLOCK_FAILOVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/select.h>

#include <zookeeper/zookeeper.h>

#include "ensemble/relay.h"
#include "ensemble/trouble.h"

/* Sockets with higher numbers are not found, and their servers not left. */
#define FAILOVER_FDS 512

struct failover {
    int64_t patience; /* ns */
    int64_t last;
    int64_t handshake_since; /* 0: none is under way */
    unsigned int handshakes; /* that were broken off since there was contact */
    int fds;
    fd_set foreign; /* descriptors that were open before the library's */
    struct trouble *trouble;
    struct relay *relay; /* by which the library connects; NULL: directly */
};

/*
 * Before the library opens its first descriptor: what is open now is not its socket.  trouble hears
 * of what is cut; trouble and relay, which may be NULL, must live as long.
 */
void failover_init(struct failover *failover, struct trouble *trouble, struct relay *relay);

/*
 * Leaves the server, because it does not answer, or for another reason, which is not told.  Returns
 * false if there is no contact to one, or no way to leave it.
 */
bool failover_leave(struct failover *failover, zhandle_t *handle, bool silence);

/* The same with whatever connection there is, or is being made.  Returns false if there is none. */
bool failover_cut(struct failover *failover, bool silence);

/*
 * Takes the connection from the client library, which has to be closed soon.  Returns a descriptor
 * of it; -1 if there is no connection, or no free descriptor.  The library gets a socket that
 * connects to *silent instead.  It must not find its connection lost: it would connect again, and
 * the server would then close the one that was taken.  The caller closes both.
 */
int failover_take(struct failover *failover, zhandle_t *handle, int *silent);

/*
 * While a session is without contact: a server that is just starting may take the connection and
 * never answer the library's request to go on with the session, for which the library would wait
 * two thirds of the session timeout.  Breaks that off after first_patience, ns, and each time after
 * twice as long as before.  Returns when to call again.
 */
int64_t failover_watch_handshake(struct failover *failover, zhandle_t *handle,
                                 int64_t first_patience);

/* There is contact again. */
void failover_connected(struct failover *failover);

/*
 * Leaves the server if the oldest request without an answer was sent longer ago than patience
 * lasts, for the first time since the last move or, doubling, the one before.  Returns when to
 * call again.
 */
int64_t failover_tick(struct failover *failover, zhandle_t *handle, int64_t oldest_sent);

#endif
