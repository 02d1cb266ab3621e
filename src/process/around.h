/*
 * What a command's environment says of the locks that are held around it: ZKFLOCK_HELD, the names
 * of the sockets that a zkflock inside asks, the outermost one first.
 */
#ifndef ZKFLOCK_AROUND_H
#define ZKFLOCK_AROUND_H

#define AROUND_VARIABLE "ZKFLOCK_HELD"

/* What --hold --export has set in a shell; a command begins without it. */
#define AROUND_EXPORTED_VARIABLE "ZKFLOCK_EXPORTED"

/* Room for a socket's name and its end. */
#define AROUND_NAME_SIZE 96

/* What ZKFLOCK_HELD is with that name behind those of the locks around; to be freed. */
char *around_with(const char *name);

/* And without that name, if it is there; NULL: nothing is left. */
char *around_without(const char *name);

#endif
