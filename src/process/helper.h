/*
 * Processes that zkflock forks for itself: front and keeper, guard, witness, hook runner.
 */
#ifndef ZKFLOCK_HELPER_H
#define ZKFLOCK_HELPER_H

#include <sys/types.h>

/*
 * Forks, and connects both processes by a pair of SOCK_SEQPACKET sockets, close-on-exec; flags are
 * SOCK_NONBLOCK or 0.  To be called by a process with one thread.  Returns as fork(2) does, with
 * *link as this process's end of the pair; -1 with errno: there is neither process nor pair.
 */
pid_t helper_fork(int *link, int flags);

#endif
