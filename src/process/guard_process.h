/*
 * What runs in the guard; see guard.h for what it is for.
 */
#ifndef ZKFLOCK_GUARD_PROCESS_H
#define ZKFLOCK_GUARD_PROCESS_H

#include <sys/types.h>

#include "process/guard.h"

/*
 * The guard's life, in a fresh child of the keeper that has one thread and all signals blocked.
 * link is its end of a nonblocking SOCK_SEQPACKET pair.  Ends the process.
 */
_Noreturn void guard_process(int link, pid_t keeper, const struct guard_mandate *mandate);

#endif
