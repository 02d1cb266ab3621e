/*
 * Files that others name, perhaps with secrets in them.
 */
#ifndef ZKFLOCK_PRIVATE_FILE_H
#define ZKFLOCK_PRIVATE_FILE_H

#include "base/exitcode.h"

/*
 * Opens a regular file, without waiting for anybody.  If secret is not NULL, nobody but the owner
 * may read or write it, and that is the user or root; secret is what is in it, for messages
 * ("passwords").  Returns a descriptor, or -1 with the exit status and *fault, a sentence to be
 * freed.
 */
int private_file_open(const char *path, const char *secret, enum exitcode *status, char **fault);

/* Returns the exit status for a file that cannot be read with this errno: 71 for want of memory or
 * descriptors, else 78. */
enum exitcode private_file_status(int error);

#endif
