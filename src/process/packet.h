/*
 * Packets between processes that may carry a descriptor along (SCM_RIGHTS in unix(7)).
 */
#ifndef ZKFLOCK_PACKET_H
#define ZKFLOCK_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Sends len bytes as one packet of a SOCK_SEQPACKET socket, with a copy of fd; -1: without one.  A
 * receiver that only calls recv(2) does not notice the descriptor.  Returns as send(2) does.
 */
ssize_t packet_send(int socket, const void *data, size_t len, int fd);

/*
 * Takes a packet of at most size bytes.  Returns as recv(2) does, with *fd as the descriptor that
 * came along, close-on-exec, to be closed by the caller; -1: none came, or, with *lost (NULL: not
 * asked), one that this process has no number left for, or more than one.
 */
ssize_t packet_receive(int socket, void *data, size_t size, int *fd, bool *lost);

#endif
