/*
 * How often a client without contact tries to connect.
 *
 * The client library tries all servers, rests for a 60th of the session timeout, and tries them
 * again: with three servers and 15 seconds 12 times a second.  Thousands of waiters that do so
 * together keep the servers from electing a leader.  It has no call to change that.  But its thread
 * takes a lock before it connects, and rests for as long as this one has it.
 */
#ifndef ZKFLOCK_PACE_H
#define ZKFLOCK_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include <zookeeper/zookeeper.h>

struct pace {
    int64_t length; /* of the last rest, ns; 0: none since there was contact */
    int64_t until;  /* when it ends, or the round before it may have; 0: there was contact */
    bool rests;     /* this thread has the library's lock */
};

/*
 * While a session is without contact: has the library rest when it is between two connections, some
 * moments after it could go on.  The first rest takes a 16th of the time that is left until the
 * session may be lost, or less; each is twice as long as the one before, but takes no more than a
 * quarter of the time that is left.  Returns when to call again: at the rest's end, or else at
 * look.  The shared library does not export the lock; then this does nothing.
 */
int64_t pace_tick(struct pace *pace, zhandle_t *handle, int64_t look, int64_t lost_at);

/* There is contact again, or the handle is to be closed.  Always by the same thread. */
void pace_end(struct pace *pace, zhandle_t *handle);

#endif
