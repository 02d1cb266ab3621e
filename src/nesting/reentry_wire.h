/*
 * What the two sides of a re-entry say to each other, a packet each:
 *
 *     enter KIND PERMITS \n PATH WITH CHROOT \n ADDRESS ADDRESS ...      the request; or probe
 *     unlock \n PATH \n CONNECT STRING                                    the other request
 *     ANSWER TOKEN NODE                                                  the answer
 *     ADDRESS ADDRESS ... \n PERMITS PATH WITH CHROOT \n ...             to another user, unasked
 *
 * What comes from the other side is taken for what it is, another's words: too long or ill-formed
 * is no request, and no answer.
 */
#ifndef ZKFLOCK_REENTRY_WIRE_H
#define ZKFLOCK_REENTRY_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "nesting/reentry.h"
#include "process/procid.h"

#define WIRE_SIZE 16384

struct wire_request {
    bool probe;
    bool unlock;              /* of path, which is as its user names it */
    struct reentry_lock lock; /* its path is not set */
    const char *path;         /* with the chroot; in text, as are the addresses */
    const char *addresses;    /* of unlock: its connect string */
    char text[WIRE_SIZE];
};

/*
 * Sockets, close-on-exec; -1 with errno, EPERM for one of another user.  wire_connect() waits until
 * the deadline for room in the queue of the listener: EAGAIN if there was none, ECONNREFUSED if
 * nobody listens by that name.
 */
int wire_listen(const char *name);
int wire_connect(const char *name, int64_t deadline);

/* The same, from or to any user; *own: it is the own one. */
int wire_accept(int listener, bool *own);
int wire_connect_to_any(const char *name, int64_t deadline, bool *own);

/* Returns whether that process, which lives, is the one that listens. */
bool wire_is_listener(int fd, pid_t pid);

/*
 * Finds out who has connected, pid 0 if its pid namespace cannot be seen from here.  Returns false
 * if it has hung up, and the number may be another one's.
 */
bool wire_peer(int fd, struct procid *peer);

/* Returns whether the other side, which has connected or listens, is in this pid namespace. */
bool wire_is_near(int fd);

/*
 * Tells a process of another user what is held, as far as it fits; and whether a lock is among it,
 * as told until the deadline.
 */
void wire_tell(int fd, const struct reentry_lock *locks, size_t count,
               const struct servers *servers);
bool wire_hears_of(int fd, const struct reentry_lock *lock, const struct servers *servers,
                   int64_t deadline);

/* probe: only to know the answer. */
bool wire_ask(int fd, const struct reentry_lock *lock, const struct servers *servers, bool probe);
/* servers: the connect string that it was taken with; "": any. */
bool wire_ask_unlock(int fd, const char *path, const char *servers);
bool wire_read_request(int fd, struct wire_request *request);
void wire_answer(int fd, enum reentry_answer answer, const char *node, int64_t token);

/*
 * Waits until the deadline, or until wake_fd, which may be -1, is readable: REENTRY_SILENT then.
 * *node, to be freed, and *token if entered.
 */
enum reentry_answer wire_read_answer(int fd, int wake_fd, int64_t deadline, char **node,
                                     int64_t *token);

#endif
