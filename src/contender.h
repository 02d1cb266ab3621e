/*
 * What a contender writes into its znode, and what can be told from what others wrote.
 */
#ifndef ZKFLOCK_CONTENDER_H
#define ZKFLOCK_CONTENDER_H

#include <stdbool.h>
#include <stddef.h>

enum contender_state { CONTENDER_WAITING, CONTENDER_HELD };

/* The text for a znode in this state; static, its length is strlen(). */
const char *contender_encode(enum contender_state state, bool shared);

/*
 * Whether these bytes, of anybody's making, say that their znode holds the lock exclusively.
 * A waiter may then rely on it that nobody stands before that znode.
 */
bool contender_holds_exclusively(const char *data, size_t len);

#endif
