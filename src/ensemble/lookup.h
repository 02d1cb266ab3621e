/*
 * A look-up of a host's name, in a thread of its own, since getaddrinfo(3) takes as long as it
 * likes.  One that takes too long is left to itself.
 */
#ifndef ZKFLOCK_LOOKUP_H
#define ZKFLOCK_LOOKUP_H

#include <netdb.h>
#include <stdint.h>

struct lookup;

/* Begins it; NULL with errno if there are too many descriptors or threads. */
struct lookup *lookup_start(const char *name);

/*
 * Waits until the deadline, or until stop_fd, unless -1, becomes readable.  Returns 0 or an error
 * of getaddrinfo(3), EAI_SYSTEM with errno: ETIMEDOUT, or EINTR for stop_fd.
 */
int lookup_wait(const struct lookup *lookup, int64_t deadline, int stop_fd);

/* What was found, after a wait that returned 0; valid until the release. */
const struct addrinfo *lookup_found(const struct lookup *lookup);

void lookup_release(struct lookup *lookup);

#endif
