/*
 * What a contender writes into its znode, and what can be told from what others wrote: two lines,
 *
 *     zkflock/1 held exclusive
 *     ci@runner7 pid 4711: make deploy
 */
#ifndef ZKFLOCK_CONTENDER_H
#define ZKFLOCK_CONTENDER_H

#include <stdbool.h>
#include <stddef.h>

enum contender_state { CONTENDER_WAITING, CONTENDER_HELD };

/* Room for the second line and its end. */
#define CONTENDER_WHO_SIZE 256

/* Makes the second line, for this process and what it will run.  Before the first thread. */
void contender_introduce(char *const *argv);

/* The text for a znode in this state, to be freed. */
char *contender_encode(enum contender_state state, bool shared);

/*
 * Whether these bytes, of anybody's making, say that their znode holds the lock exclusively.
 * A waiter may then rely on it that nobody stands before that znode.
 */
bool contender_holds_exclusively(const char *data, size_t len);

/*
 * Who wrote these bytes, of anybody's making; empty where they do not tell.  Nothing that could
 * change a terminal or a log gets through.  Returns who.
 */
const char *contender_who(const char *data, size_t len, char who[CONTENDER_WHO_SIZE]);

#endif
