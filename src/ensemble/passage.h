/*
 * One connection of the relay: from the client library, in the clear, to a server, by TLS.  All
 * calls are made by the relay's thread, and none blocks.
 */
#ifndef ZKFLOCK_PASSAGE_H
#define ZKFLOCK_PASSAGE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "ensemble/tls.h"

enum { PASSAGE_FDS = 2 };

struct passage;

/*
 * Begins to connect to a server that has one of these names, which have to live as long.  local is
 * the passage's from now on.  Returns NULL with errno if that cannot be begun, with local closed.
 */
struct passage *passage_new(const struct tls *tls, int local, const struct sockaddr *server,
                            socklen_t len, const char *const *names, size_t count);

/* Writes what to wait for, and returns until when at the most. */
int64_t passage_wait(const struct passage *passage, struct pollfd fds[PASSAGE_FDS]);

/*
 * Does what can be done, given what poll(2) has found.  Returns false when it is over, with *why:
 * what is wrong with the server, in words that follow its name, or NULL if either side has just
 * ended it.  With an *error, an errno, the fault is in this process, and *why says which.
 */
bool passage_go(struct passage *passage, const struct pollfd fds[PASSAGE_FDS], const char **why,
                int *error);

/* Closes both connections. */
void passage_free(struct passage *passage);

#endif
