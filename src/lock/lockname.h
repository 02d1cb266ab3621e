/*
 * The name a user gives a lock, and the znode path it stands for.
 */
#ifndef ZKFLOCK_LOCKNAME_H
#define ZKFLOCK_LOCKNAME_H

/* Where locks with a bare name live. */
#define LOCKNAME_ROOT "/locks"

/*
 * Turns a lock's name into its path: "/a/b" stays, "b" becomes "/locks/b" below the root "/locks",
 * and "/b" below "/".  On success returns the
 * path, to be freed by the caller; on a bad name NULL, with *fault the words that follow the name.
 * Running out of memory ends the process.
 */
char *lockname_resolve(const char *name, const char *root, const char **fault);

/* The longest beginning of a contender's name. */
#define LOCKNAME_PREFIX_MAX 100

/* Why this cannot begin the name of a contender, or NULL. */
const char *lockname_prefix_fault(const char *prefix);

#endif
