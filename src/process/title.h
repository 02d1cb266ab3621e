/*
 * What ps(1) shows of a process, and pkill(1) looks for.
 *
 * zkflock's command line names the command and the lock.  The processes that zkflock forks for
 * itself show neither of them, nor zkflock's name, so that a pattern that finds zkflock and the
 * command does not find, and kill, the guard too.
 */
#ifndef ZKFLOCK_TITLE_H
#define ZKFLOCK_TITLE_H

/* Returns a copy of argv, to be used in place of argv.  To be called first, and once. */
char **title_init(int argc, char **argv);

/* In a forked process: has ps(1) show name, at most 15 characters, and nothing else. */
void title_set(const char *name);

#endif
