/*
 * What a contender writes into its znode, and what can be told from what others wrote: two lines,
 *
 *     zkflock/1 held exclusive
 *     ci@runner7 pid 4711: make deploy
 *
 * Who wants a holder to give its lock up writes into the holder's znode: the first line then says
 * "revoked", and a last one who asks,
 *
 *     revoked by anna@desk pid 22: zkflock --revoke deploy
 *
 * or, to clients of other kinds, the bytes that Curator's Revoker writes.
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

/* What Curator's Revoker writes. */
#define CONTENDER_REVOKE "__REVOKE__"

/*
 * The text that asks whoever wrote data to give the lock up, in the name of this process; it keeps
 * what data says of who that is.  To be freed.
 */
char *contender_encode_revoked(const char *data, size_t len);

/*
 * Whether these bytes, of anybody's making, are such a text, or Curator's; who then says who asks,
 * as contender_who() does.
 */
bool contender_is_revoked(const char *data, size_t len, char who[CONTENDER_WHO_SIZE]);

#endif
