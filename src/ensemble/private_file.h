/*
 * Files that others name, perhaps with secrets in them.
 */
#ifndef ZKFLOCK_PRIVATE_FILE_H
#define ZKFLOCK_PRIVATE_FILE_H

/*
 * Opens a regular file, without waiting for anybody.  If secret is not NULL, nobody but the owner
 * may read or write it, and that is the user or root; secret is what is in it, for messages
 * ("passwords").  Returns a descriptor, or -1 with *fault, a sentence to be freed.
 */
int private_file_open(const char *path, const char *secret, char **fault);

#endif
