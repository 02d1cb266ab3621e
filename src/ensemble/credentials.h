/*
 * Who a client is, for an ensemble that asks: the lines of an auth file.
 *
 *     # a comment
 *     digest:USER:PASSWORD
 *
 * Passwords are secrets.  They lie on pages of their own, which are in no core file and which no
 * forked process gets, and the process cannot be dumped or traced by others of its user.  The
 * client library has a copy of its own in its heap.
 */
#ifndef ZKFLOCK_CREDENTIALS_H
#define ZKFLOCK_CREDENTIALS_H

#include <stdbool.h>

#include <zookeeper/zookeeper.h>

#include "base/exitcode.h"

/* In the environment: the path of the auth file. */
#define AUTH_FILE_VARIABLE "ZKFLOCK_AUTH_FILE"

struct credentials;

/*
 * Reads a file, which nobody but its owner may read or write, and which belongs to the user or to
 * root.  Returns a new object, or NULL with the exit status and *fault, a sentence without secrets,
 * to be freed.
 */
struct credentials *credentials_read(const char *path, enum exitcode *status, char **fault);

/*
 * Has a new handle send them on each of its connections, before any request.  A server that does
 * not take them puts the handle into ZOO_AUTH_FAILED_STATE.  NULL: there are none.  Returns false
 * if the handle has not taken all of them: its first connection has failed already.
 */
bool credentials_add(const struct credentials *credentials, zhandle_t *handle);

/* Overwrites and frees them; NULL is allowed. */
void credentials_free(struct credentials *credentials);

#endif
