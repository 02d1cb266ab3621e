/*
 * For a process that stays behind when its caller goes on, under --hold: closes and leaves what
 * others might wait for.
 */
#ifndef ZKFLOCK_DETACH_H
#define ZKFLOCK_DETACH_H

#include <stddef.h>

/*
 * Closes all descriptors but stdout, stderr and those in kept, count of them, which it sorts; makes
 * /dev/null stdin.  To be called before anything else is opened.
 */
void detach_descriptors(int *kept, size_t count);

/* Makes /dev/null stdout; and stderr, if somebody may wait for the end of that. */
void detach_output(void);

/* Leaves the working directory, so that its file system can be unmounted. */
void detach_directory(void);

#endif
