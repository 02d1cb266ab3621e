/*
 * Opening and closing a handle of the client library without being aborted or held up by it.
 *
 * The library has two threads for each handle.  It aborts the process if it cannot start them, and
 * zookeeper_close() waits for them for as long as they take: for ever, if a server that says that
 * it is read-only has the library look for another one, which it does with blocking calls.
 */
#ifndef ZKFLOCK_HANDLE_H
#define ZKFLOCK_HANDLE_H

#include <stdbool.h>

#include <zookeeper/zookeeper.h>

#include "ensemble/failover.h"

/*
 * Returns true if two more threads can be started now.  Other processes may take them before the
 * library does, but for that they have to hit some microseconds.
 */
bool handle_threads_available(void);

/*
 * Closes the handle; NULL is allowed.  failover tells the library's sockets, which are shut down if
 * they keep its threads busy.  Returns false if that was of no use within some seconds: then the
 * library's threads go on until the process ends, and all that they refer to has to stay.
 */
bool handle_close(zhandle_t *handle, struct failover *failover);

#endif
