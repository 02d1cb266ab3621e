/*
 * The credentials by which a client authenticates: the lines of an auth file.
 *
 *     # a comment
 *     digest:USER:PASSWORD
 *
 * Passwords are kept on pages of their own, which no core file contains and no forked process
 * gets.  Reading them makes the process undumpable, so other processes of its user cannot trace it
 * or read its memory.  The client library keeps a copy in its heap.
 */
#ifndef ZKFLOCK_CREDENTIALS_H
#define ZKFLOCK_CREDENTIALS_H

#include <stdbool.h>

#include <zookeeper/zookeeper.h>

#include "base/exitcode.h"

/* The variable of the environment that has the path of the auth file. */
#define AUTH_FILE_VARIABLE "ZKFLOCK_AUTH_FILE"

struct credentials;

/*
 * Reads an auth file.  Refuses one that somebody other than its owner may read or write, or that
 * belongs neither to the user nor to root.  Returns a new object; or NULL with the exit status and
 * *fault, a sentence without secrets that the caller frees.
 */
struct credentials *credentials_read(const char *path, enum exitcode *status, char **fault);

/*
 * Makes a new handle send the credentials on each of its connections, before any request; NULL has
 * none.  If a server refuses them, the handle enters ZOO_AUTH_FAILED_STATE.  Returns false if the
 * handle has not taken all of them, because its first connection has failed already.
 */
bool credentials_add(const struct credentials *credentials, zhandle_t *handle);

/* Overwrites and frees the credentials; NULL is allowed. */
void credentials_free(struct credentials *credentials);

#endif
