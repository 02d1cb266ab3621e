/*
 * From what the user asked for to the locks that are taken for it, in the order in which every
 * zkflock takes them: by path.  So two that want the same locks never wait for each other in a
 * circle, however they were named.
 */
#ifndef ZKFLOCK_PLAN_H
#define ZKFLOCK_PLAN_H

#include "config/options.h"
#include "lock/lockset.h"

/* The items for these options, which have to live as long; to be freed with plan_free(). */
struct lockset_item *plan_new(const struct options *options, size_t *count);

/* Takes the items for the lock at path off the plan. */
void plan_drop(struct lockset_item *items, size_t *count, const char *path);

/* Returns whether the plan has items for the lock at path. */
bool plan_has(const struct lockset_item *items, size_t count, const char *path);

void plan_free(struct lockset_item *items, size_t count);

#endif
