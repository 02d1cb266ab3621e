/*
 * The environment of a lock for a shell's eval, and what takes it back: --export.
 *
 * Several holds may be there, and be given back in any order.  So the environment tells of each,
 * and of what was there before, in ZKFLOCK_EXPORTED.
 */
#ifndef ZKFLOCK_ENVIRONMENT_H
#define ZKFLOCK_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * ZKFLOCK_EXPORTED as it is, or as it is to begin, by the environment that zkflock was called with;
 * to be freed.  To be called before that is changed.
 */
char *environment_exported(void);

/*
 * Prints what a shell makes its environment from.  held is the name to be added to ZKFLOCK_HELD, or
 * empty.  Returns whether that was possible; if not, it was told.
 */
bool environment_print(const char *exported, const char *lock, const char *node, int64_t token,
                       const char *held);

/*
 * Prints what takes that environment back from a shell which has it: name is the one that was added
 * to ZKFLOCK_HELD.  Returns whether that was possible; if not, it was told.
 */
bool environment_take_back(const char *lock, const char *name);

/*
 * In its place, what has a shell's eval fail with that status: of nothing at all eval makes a
 * success.
 */
void environment_print_failure(int status);

#endif
