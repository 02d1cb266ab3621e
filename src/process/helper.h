/*
 * Processes that zkflock forks for itself: front and keeper, guard, witness, hook runner.
 *
 * zkflock's command line names the command and the lock.  What ps(1) shows of guard, witness and
 * hook runner, and pkill(1) looks for, is a title with neither of them, nor zkflock's name, so that
 * a pattern that finds zkflock and the command does not find, and kill, the guard too.
 */
#ifndef ZKFLOCK_HELPER_H
#define ZKFLOCK_HELPER_H

#include <stddef.h>
#include <sys/types.h>

/* Returns a copy of argv, to be used in place of argv.  To be called first, and once. */
char **helper_copy_argv(int argc, char **argv);

/*
 * Forks, and connects both processes by a pair of SOCK_SEQPACKET sockets, close-on-exec; flags are
 * SOCK_NONBLOCK or 0.  title, at most 15 characters, is all that ps(1) shows of the child; NULL:
 * the same as of this process.  To be called by a process with one thread.  Returns as fork(2)
 * does, with *link as this process's end of the pair; -1 with errno: there is neither process nor
 * pair.
 */
pid_t helper_fork(int *link, int flags, const char *title);

/* Makes the title, at most 15 characters, all that ps(1) shows of this process. */
void helper_set_title(const char *title);

/* ---- for one that stays behind when the caller goes on, under --hold ---- */

/*
 * Closes all descriptors but stdout, stderr and those in kept, count of them, which it sorts; makes
 * /dev/null stdin.  To be called before anything else is opened.
 */
void helper_detach_descriptors(int *kept, size_t count);

/* Makes /dev/null stdout; and stderr, if somebody may wait for the end of that. */
void helper_detach_output(void);

/* Leaves the working directory, so that its file system can be unmounted. */
void helper_detach_directory(void);

#endif
