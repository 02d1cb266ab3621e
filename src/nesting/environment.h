/*
 * --export: the environment of a lock, printed for a shell's eval, and what restores the one
 * before.
 *
 * Several holds may be given back in any order.  So ZKFLOCK_EXPORTED tells what each of them has
 * set, and what was there before.
 */
#ifndef ZKFLOCK_ENVIRONMENT_H
#define ZKFLOCK_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns ZKFLOCK_EXPORTED as this zkflock found it, with what was set since added; to be freed. To
 * be called before zkflock changes its environment.
 */
char *environment_exported(void);

/*
 * Prints the environment of the lock for eval.  exported is from environment_exported(), held the
 * name to add to ZKFLOCK_HELD, or empty.  Returns false after a message if that fails.
 */
bool environment_print(const char *exported, const char *lock, const char *node, int64_t token,
                       const char *held);

/*
 * Returns the environment of the lock in the form of front_become(), of *len bytes, to be freed;
 * NULL with errno.  held is added to ZKFLOCK_HELD, unless it is NULL.
 */
char *environment_for_command(const char *lock, const char *node, int64_t token, const char *held,
                              size_t *len);

/*
 * Prints what removes that environment from a shell.  name was added to ZKFLOCK_HELD.  Returns
 * false after a message if that fails.
 */
bool environment_take_back(const char *lock, const char *name);

/* Prints, instead, what makes a shell's eval fail with that status: eval "" would succeed. */
void environment_print_failure(int status);

#endif
