/*
 * Locks and contenders in words, for tables, lines and messages.
 */
#ifndef ZKFLOCK_DESCRIBE_H
#define ZKFLOCK_DESCRIBE_H

#include "list/view.h"

#define DESCRIBE_SIZE 512

/*
 * Returns text with what the contender says of itself, "ci@runner7 pid 4711: make deploy"; or, if
 * another client made it, the name of the znode and its session, by which --list calls it.
 * Printable ASCII, whatever others wrote.
 */
const char *describe_contender(const struct view_contender *contender, char text[DESCRIBE_SIZE]);

/* Returns true if zkflock made it: other clients may ignore requests and losing their znode. */
bool describe_is_ours(const struct view_contender *contender);

/* Its parts, each clean (see text.h) and to be freed. */

/* "ci@runner7", or the address, or the session. */
char *describe_who(const struct view_contender *contender);

/* The process there, or nothing. */
char *describe_pid(const struct view_contender *contender);

/* The command, or a word on why there is none. */
char *describe_command(const struct view_contender *contender);

/* "held", "free", "settling", or what to say of a lock that could not be read. */
const char *describe_state(const struct view *view, const char *unread);

/* "exclusive", "shared x2", "permits 1/3" and so on; to be freed. */
char *describe_kind(const struct view *view);

/* "exclusive", "shared", "unfair" or "permit". */
const char *describe_kind_word(enum contender_kind kind);

/* "12 locks, 3 held, 7 waiting"; to be freed. */
char *describe_all(const struct view *views, size_t count);

#endif
