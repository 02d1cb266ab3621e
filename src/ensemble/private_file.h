/*
 * Files with secrets.
 */
#ifndef ZKFLOCK_PRIVATE_FILE_H
#define ZKFLOCK_PRIVATE_FILE_H

/*
 * Opens a file that nobody but its owner may read or write, and that belongs to the user or to
 * root.  what is in it is for messages ("passwords").  Returns a descriptor, or -1 with *fault, a
 * sentence to be freed.
 */
int private_file_open(const char *path, const char *what, char **fault);

/* Says why it cannot be opened so, to be freed; NULL: it can. */
char *private_file_fault(const char *path, const char *what);

#endif
