/*
 * What ps(1), and with it pkill(1), shows of a process.
 *
 * zkflock's command line has the command and the lock in it.  Its helpers show neither, nor its
 * name, so that no pattern that finds zkflock and the command takes them along.
 */
#ifndef ZKFLOCK_TITLE_H
#define ZKFLOCK_TITLE_H

/* Returns a copy of argv to use in its place.  To be called first, and once. */
char **title_init(int argc, char **argv);

/* In a forked process: shows name, of 15 characters at the most, and nothing else. */
void title_set(const char *name);

#endif
