/*
 * Who has made a Unix socket, without connecting to it.
 */
#ifndef ZKFLOCK_SOCKET_OWNER_H
#define ZKFLOCK_SOCKET_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Fills in the user that has made the Unix socket with that inode, by sock_diag(7); (uid_t)-1 if
 * there is none, or it has not that abstract name, without the 0 before it: /proc/net/unix shows
 * names as they are, and one with a line feed shows what looks like another socket.  Returns false
 * if the kernel does not tell, as before Linux 5.3.
 */
bool socket_owner(uint32_t inode, const char *name, uid_t *uid);

#endif
