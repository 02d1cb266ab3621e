/*
 * For a process that stays behind when its caller goes on: it lets go of what others might wait
 * for.
 */
#ifndef ZKFLOCK_DETACH_H
#define ZKFLOCK_DETACH_H

#include <stddef.h>

/*
 * Before anything else is opened: closes all descriptors but stdout, stderr and those that are
 * kept, count of them, which are sorted; stdin is /dev/null.
 */
void detach_descriptors(int *kept, size_t count);

/* Lets go of stdout; and of stderr, if somebody may wait for the end of that. */
void detach_output(void);

/* Leaves the working directory, which may be on something that is to be unmounted. */
void detach_directory(void);

#endif
