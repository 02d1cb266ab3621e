/*
 * What stands between the client library and the kernel; see wire.c.
 */
#ifndef ZKFLOCK_WIRE_H
#define ZKFLOCK_WIRE_H

#include <stdbool.h>

/*
 * Returns whether the client library may have made this connection, which is open: in a library
 * that is linked dynamically, which is not known, it may have made any.  In any thread.
 */
bool wire_may_be_of_library(int fd);

#endif
