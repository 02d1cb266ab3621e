/*
 * One connection of the relay: from the client library, unencrypted, to a server, by TLS.  The
 * relay's thread makes all calls, and none of them blocks.
 */
#ifndef ZKFLOCK_PASSAGE_H
#define ZKFLOCK_PASSAGE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "ensemble/tls.h"
#include "ensemble/trouble.h"

enum { PASSAGE_FDS = 2 };

struct passage;

/* How a passage is over. */
struct passage_end {
    enum trouble_kind kind;
    const char
        *why;  /* words that follow the server's name; of TROUBLE_LOCAL, all there is to say */
    bool left; /* by this process; if that was not for silence, there is nothing to tell */
};

/*
 * Begins to connect to a server that must prove one of these names, which must live as long as the
 * passage.  Takes over local.  On failure closes local and returns NULL with errno.
 */
struct passage *passage_new(const struct tls *tls, int local, const struct sockaddr *server,
                            socklen_t len, const char *const *names, size_t count);

/* Writes what poll(2) is to wait for.  Returns the time until which to wait at most. */
int64_t passage_wait(const struct passage *passage, struct pollfd fds[PASSAGE_FDS]);

/*
 * Does what it can without blocking; fds has the result of poll(2).  Returns false when the passage
 * is over, with *end, whose words live as long as the passage.
 */
bool passage_go(struct passage *passage, const struct pollfd fds[PASSAGE_FDS],
                struct passage_end *end);

/*
 * Shuts both connections down, by any thread: the next passage_go() ends the passage, and finds
 * that this process has left the server.
 */
void passage_cut(const struct passage *passage);

/* Closes both connections and frees the passage. */
void passage_free(struct passage *passage);

#endif
