/*
 * The keeper: the process that the caller started.  It holds the ZooKeeper session and the lock,
 * passes signals on, and tells the outcome.
 *
 *     keeper_start()        the guard is forked, signals are blocked
 *     keeper_connect()
 *     keeper_acquire()
 *     keeper_run()
 *     keeper_give_back()    also after a failure of any of the above
 *
 * Each of the middle three returns 0 to go on, or the exit status after having said why.  One
 * thread; a process has one keeper.
 */
#ifndef ZKFLOCK_KEEPER_H
#define ZKFLOCK_KEEPER_H

#include "command.h"
#include "options.h"

struct keeper;

/* Returns NULL after a message.  Both arguments have to live as long as the keeper. */
struct keeper *keeper_start(const struct options *options, struct command *command);

/* Finds a server and gets a session.  Starts the first threads. */
int keeper_connect(struct keeper *keeper);

/* Waits in the queue until the lock is held, for as long as the options say. */
int keeper_acquire(struct keeper *keeper);

/* Runs the command under the held lock; always returns the status to exit with. */
int keeper_run(struct keeper *keeper);

/* Gives back what there is and ends session and guard; in bounded time.  NULL is allowed. */
void keeper_give_back(struct keeper *keeper);

#endif
