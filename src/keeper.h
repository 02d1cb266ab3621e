/*
 * The keeper: the process that the caller started.  It holds the ZooKeeper session and the lock,
 * passes signals on, and tells the outcome.
 *
 *     keeper_start()        the guard is forked, signals are blocked
 *     keeper_connect()
 *     keeper_acquire()
 *     keeper_run()
 *     keeper_give_back()    also when one of the above has failed; returns the exit status
 *
 * connect and acquire return whether to go on; if not, they have said why.  One thread; a process
 * has one keeper.
 */
#ifndef ZKFLOCK_KEEPER_H
#define ZKFLOCK_KEEPER_H

#include <stdbool.h>

#include "command.h"
#include "options.h"

struct keeper;

/* Returns NULL after a message.  Both arguments have to live as long as the keeper. */
struct keeper *keeper_start(const struct options *options, struct command *command);

/* Finds a server and gets a session.  Starts the first threads. */
bool keeper_connect(struct keeper *keeper);

/* Waits in the queue until the lock is held, for as long as the options say. */
bool keeper_acquire(struct keeper *keeper);

/* Runs the command under the held lock, until it ends or the lock is lost. */
void keeper_run(struct keeper *keeper);

/*
 * Gives back what there is, ends session and guard, in bounded time, and frees the keeper.  Returns
 * the status to exit with.
 */
int keeper_give_back(struct keeper *keeper);

#endif
