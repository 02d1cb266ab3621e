/*
 * The keeper: the process that holds the ZooKeeper session and the lock, between the
 * caller's side (front.h) and the guard, which runs the command.
 *
 *     keeper_start()        forks guard and hook runner
 *     keeper_connect()
 *     keeper_acquire()
 *     keeper_is_due()
 *     keeper_try_again()    if one of these three has failed: whether to begin with them again
 *     keeper_run()
 *     keeper_note_success()
 *     keeper_give_back()    also when one of the above has failed; returns the exit status
 *
 * connect, acquire and is_due return whether to go on; if not, they have said why.  One thread; a
 * process has one keeper.
 */
#ifndef ZKFLOCK_KEEPER_H
#define ZKFLOCK_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "config/options.h"
#include "process/command.h"
#include "process/front.h"
#include "process/hook.h"

struct keeper;

/* Returns NULL after a message.  The arguments have to live as long as the keeper. */
struct keeper *keeper_start(const struct options *options, const struct command *command,
                            struct hook *hook, struct front *front);

/* Finds a server and gets a session.  Starts the first threads. */
bool keeper_connect(struct keeper *keeper);

/* Waits in the queue until the lock is held, for as long as the options say. */
bool keeper_acquire(struct keeper *keeper);

/* Returns whether to run; under --once-per, if the last successful run began long enough ago. */
bool keeper_is_due(struct keeper *keeper);

/*
 * After a failure of the above: if the ensemble was not reachable and tries are left, gives back
 * what there is, pauses, and returns true as after keeper_start().
 */
bool keeper_try_again(struct keeper *keeper);

/* Runs the command under the held lock, until it ends or the lock is lost. */
void keeper_run(struct keeper *keeper);

/* Under --once-per, notes the run if it succeeded, or warns. */
void keeper_note_success(struct keeper *keeper);

/* How long a run waited for its lock, or in vain, and held it; ns. */
struct keeper_times {
    int64_t waited;
    int64_t held; /* KEEPER_NEVER_HELD */
};

#define KEEPER_NEVER_HELD INT64_C(-1)

/*
 * Gives back what there is, ends guard and session, in bounded time, and frees the keeper.  Returns
 * the status to exit with.
 */
int keeper_give_back(struct keeper *keeper, struct keeper_times *times);

#endif
