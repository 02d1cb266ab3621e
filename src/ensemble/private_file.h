/*
 * Files that the user names, which may contain secrets.
 */
#ifndef ZKFLOCK_PRIVATE_FILE_H
#define ZKFLOCK_PRIVATE_FILE_H

#include "base/exitcode.h"

/*
 * Opens a regular file; never blocks.  If secret is not NULL, refuses a file that somebody other
 * than its owner may read or write, or that belongs neither to the user nor to root; messages call
 * the content by secret ("passwords").  Returns a descriptor; or -1 with the exit status and
 * *fault, a sentence that the caller frees.
 */
int private_file_open(const char *path, const char *secret, enum exitcode *status, char **fault);

/*
 * Returns the exit status for a file that cannot be read with this errno: 71 for lack of memory or
 * descriptors, else 78.
 */
enum exitcode private_file_status(int error);

#endif
