/*
 * What it means when the ensemble refuses a request: the words for it, and the exit status.  rc is
 * one of the client library's ZOO_ERRORS, as in an event of the session.
 */
#ifndef ZKFLOCK_FAULT_H
#define ZKFLOCK_FAULT_H

#include <stdbool.h>

#include "base/exitcode.h"

/* Returns the fault in a few words: "not permitted". */
const char *fault_text(int rc);

/* Returns the exit status of a run that ends because of it. */
enum exitcode fault_status(int rc);

/* Returns true for an errno that means a lack of memory, descriptors or buffers. */
bool fault_is_lack(long error);

/*
 * Returns a sentence that tells what was to be done to the znode at path, why it was not done, and,
 * where a right is missing, which one and on which znode.  To be freed.  what is one of
 *
 *     "create", "create a znode in", "delete", "list", "read", "watch", "check", "write to"
 */
char *fault_sentence(int rc, const char *what, const char *path);

#endif
