/*
 * The messages between the two sides of a re-entry, one packet each:
 *
 *     enter KIND PERMITS \n PATH WITH CHROOT \n ADDRESS ADDRESS ...      the request; or probe
 *                         with a pidfd: the lock is for that process, the caller of --hold
 *     unlock \n PATH \n CONNECT STRING                                    the other request
 *     leave \n \n                         that process no longer uses the lock; without an answer
 *     ANSWER TOKEN NODE                                                  the answer
 *     ADDRESS ADDRESS ... \n PERMITS PATH WITH CHROOT \n ...             to another user, unasked
 *
 * Nothing that comes from the other side is trusted: a packet that is too long or malformed is no
 * request and no answer.
 */
#ifndef ZKFLOCK_REENTRY_WIRE_H
#define ZKFLOCK_REENTRY_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "nesting/reentry.h"
#include "process/process.h"

#define WIRE_SIZE 16384

/* How the abstract names of the sockets begin, behind the 0. */
#define WIRE_PREFIX "zkflock-"

/*
 * A request: to use the lock; to know whether that is possible; to give the lock back.  LEAVE: the
 * caller that was told of with ENTER lives on without the lock.
 */
enum wire_verb { WIRE_ENTER, WIRE_PROBE, WIRE_UNLOCK, WIRE_LEAVE };

struct wire_request {
    enum wire_verb verb;
    struct reentry_lock lock; /* its path is not set */
    const char *path;         /* with the chroot; UNLOCK: as its user typed it */
    const char *addresses;    /* UNLOCK: the text of -z, or empty */
    int caller;               /* a pidfd, to be closed, perhaps of no process; -1: none came */
    bool caller_lost;         /* one came, for which there was no descriptor */
    char text[WIRE_SIZE];     /* path and addresses are parts of it */
};

/*
 * Return a socket, close-on-exec; -1 with errno.  wire_connect() waits for room in the listener's
 * queue: EAGAIN if there is none before the deadline, ECONNREFUSED if nobody listens by that name.
 * Any user may listen by that name: see wire_is_own().
 */
int wire_listen(const char *name);
int wire_connect(const char *name, int64_t deadline);

/*
 * Fills in who listens by that name, without waiting.  Returns false with errno: EAGAIN if there is
 * no room in the listener's queue.
 */
bool wire_look(const char *name, struct ucred *listener);

/*
 * Closes sockets, count of them, by which processes of other users can have sent descriptors: the
 * end of the last copy of such a descriptor may take any time, of a TCP socket what its SO_LINGER
 * says.  So a child has copies when these are closed here, and is killed then: the kernel does not
 * wait for that in a process that exits, or, as for a file system that does not answer, the child
 * waits and not this process.  The child is to be reaped.  Returns false, with all of them left
 * open, if there can be no child.
 */
bool wire_close_foreign(const int *fds, size_t count);

/* Returns the credentials of the process that has connected, or listens, at the other end. */
struct ucred wire_credentials(int fd);

/* Returns whether that process is of the own user. */
bool wire_is_own(int fd);

/*
 * Fills in the process that has connected.  Returns false if it is in a pid namespace that is not
 * visible from here, or has hung up: another process may have its number then.
 */
bool wire_peer(int fd, struct procid *peer);

/* Returns whether the other side, which has connected or listens, is in this pid namespace. */
bool wire_is_near(int fd);

/*
 * wire_tell() tells a process of another user which locks are held, as many as fit.
 * wire_hears_of() returns whether the lock is among those that it is told before the deadline.
 */
void wire_tell(int fd, const struct reentry_lock *locks, size_t count,
               const struct servers *servers);
bool wire_hears_of(int fd, const struct reentry_lock *lock, const struct servers *servers,
                   int64_t deadline);

/*
 * verb: ENTER or PROBE.  caller: ENTER: a pidfd of the caller of --hold; -1: none.  A keeper of
 * version 0.1.0 does not notice it.
 */
bool wire_ask(int fd, enum wire_verb verb, const struct reentry_lock *lock,
              const struct servers *servers, int caller);
void wire_leave(int fd);

/* servers: the -z text that the lock was acquired with; "": any. */
bool wire_ask_unlock(int fd, const char *path, const char *servers);
bool wire_read_request(int fd, struct wire_request *request);
void wire_answer(int fd, enum reentry_answer answer, const char *node, int64_t token);

/*
 * Waits for the answer.  Returns REENTRY_SILENT at the deadline, or when wake_fd, which may be -1,
 * is readable.  With REENTRY_ENTERED fills in *entry, unless NULL.
 */
enum reentry_answer wire_read_answer(int fd, int wake_fd, int64_t deadline,
                                     struct reentry_entry *entry);

#endif
