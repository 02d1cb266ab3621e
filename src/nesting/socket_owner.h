/*
 * Who has made a Unix socket, without connecting to it.
 */
#ifndef ZKFLOCK_SOCKET_OWNER_H
#define ZKFLOCK_SOCKET_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Fills in the user that has made the Unix socket with that inode, as /proc/net/unix shows it, by
 * sock_diag(7).  Returns false if the kernel does not tell, as before Linux 5.3, or it is gone.
 */
bool socket_owner(uint32_t inode, uid_t *uid);

#endif
