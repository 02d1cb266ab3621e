/*
 * The locks that are held around a process, in its environment: ZKFLOCK_HELD has the names of the
 * sockets that a zkflock inside asks, the outermost one first.
 */
#ifndef ZKFLOCK_AROUND_H
#define ZKFLOCK_AROUND_H

#define AROUND_VARIABLE "ZKFLOCK_HELD"

/* Set in a shell by --hold --export, see environment.h; zkflock removes it for its command. */
#define AROUND_EXPORTED_VARIABLE "ZKFLOCK_EXPORTED"

/* Room for a socket's name and its end. */
#define AROUND_NAME_SIZE 96

/* Returns ZKFLOCK_HELD with name added as the last; to be freed. */
char *around_with(const char *name);

/* Returns ZKFLOCK_HELD without name, to be freed; NULL: nothing is left. */
char *around_without(const char *name);

#endif
