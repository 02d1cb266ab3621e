/*
 * The inside of struct keeper, shared by the files that make up the keeper:
 *
 *     keeper.c          start, the events of all sources, and the end
 *     keeper_connect.c  from the servers' names to a session
 *     keeper_acquire.c  from the session to the lock
 *     keeper_run.c      the command under the lock
 */
#ifndef ZKFLOCK_KEEPER_STATE_H
#define ZKFLOCK_KEEPER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "front.h"
#include "guard.h"
#include "keeper.h"
#include "lock.h"
#include "session.h"

struct keeper {
    const struct options *options;
    const struct command *command;
    int64_t started_at;
    struct front *front;
    int ended_by; /* the signal that ends zkflock before the command runs; 0: none */
    bool running;
    bool lost;
    bool abandoned; /* the front was killed */
    int status;     /* to exit with */

    struct guard guard;
    bool guard_dead;

    struct session *session;
    struct lock *lock;

    /* what the guard told of the command */
    bool exited;
    int wait_status;
    int exec_error;
    bool lease_over;
    bool tree_empty;
};

/*
 * Waits for what comes from the session, the guard and the kernel, and takes it in; returns when
 * something came, at the deadline, or before.
 */
void keeper_pump(struct keeper *keeper, int64_t deadline);

/* Takes in what the front has said, without waiting. */
void keeper_hear_front(struct keeper *keeper);

/* Sets the status to exit with and returns false, for a phase to return. */
bool keeper_stop(struct keeper *keeper, int status);

/* The same after saying why: ends that several phases share. */
bool keeper_ended_by_signal(struct keeper *keeper);
bool keeper_front_died(struct keeper *keeper);
bool keeper_guard_died(struct keeper *keeper);

/* Whether something ends the wait before the command runs; then the above has been done for it. */
bool keeper_cut_short(struct keeper *keeper);

#endif
