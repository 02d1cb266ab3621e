/*
 * The inside of the outer side of re-entry: reentry.c has the connections and what guests are told,
 * reentry_judge.c decides on their requests.
 */
#ifndef ZKFLOCK_REENTRY_STATE_H
#define ZKFLOCK_REENTRY_STATE_H

#include "nesting/reentry.h"
#include "nesting/reentry_wire.h"
#include "process/around.h"

/* How many connections to accept in a turn: they may come faster than they can be served. */
#define WELCOMES_A_TURN 16

/* The zkflock that asks, and the caller of --hold for which it asks. */
enum { USER_PEER, USER_CALLER, USERS_OF_GUEST };

/*
 * A guest's states.  A guest may only ask, in SILENT, and in USING say that its caller does without
 * the lock from now on; if it says anything else, that counts as if it had hung up.
 *
 *   SILENT    -> ADMITTED   it asks to use a lock, and may                [reentry_decide]
 *             -> DENIED     it may not, or only wants to know
 *             -> PUT_OFF    it asks after reentry_close(): it gets no answer
 *             -> UNLOCKING  it asks for the lock to be given back, and may
 *   ADMITTED  -> REPORTED   the guard is told of its next user            [reentry_new_user]
 *   REPORTED  -> ADMITTED   the guard has taken that one over, and there is one more
 *                                                                         [reentry_guarded]
 *             -> GUARDED    the guard has taken all of them over
 *             -> DENIED     it cannot be guarded
 *             -> PUT_OFF    the locks are about to be released            [reentry_close]
 *   GUARDED   -> USING      it is answered, and starts                    [reentry_answer]
 *   DENIED    -> SILENT     it is answered                                [reentry_answer]
 *   USING     -> LEFT       it has hung up, and its caller still uses the lock  [hang_up]
 *   LEFT      -> gone       its caller has ended                          [listen_to]
 *   UNLOCKING -> SILENT     it is answered                                [reentry_unlocked]
 */
enum guest_state { SILENT, ADMITTED, REPORTED, GUARDED, USING, LEFT, DENIED, PUT_OFF, UNLOCKING };

struct guest {
    struct guest *next;
    int fd; /* LEFT: the pidfd of the caller */
    enum guest_state state;
    int caller; /* a pidfd of the caller; -1: there is none, or it does without the lock */
    struct procid users[USERS_OF_GUEST]; /* once it has asked: itself, and the caller */
    size_t users_len;
    size_t reported;             /* how many of these the guard was told of */
    enum reentry_answer verdict; /* ADMITTED to GUARDED, DENIED: the answer that is due */
};

struct reentry {
    struct reentry_terms terms;
    int listener;
    int epoll;
    int spare; /* a descriptor to read /proc with when no other is left */
    char name[AROUND_NAME_SIZE];
    const char *unlockable; /* the lock that --unlock may ask for; NULL: none */
    bool given_back;        /* by the caller of --hold */
    bool closed;
    bool crowded;                 /* somebody may wait to be accepted, see set_crowded() */
    int foreign[WELCOMES_A_TURN]; /* connections to processes of other users, to be closed */
    size_t foreign_len;
    struct guest *guests;
    size_t reported;     /* processes that the guard was told of, and has not answered for */
    struct procid *past; /* callers that do without the lock */
    size_t past_len;
};

/* Opens the spare descriptor. */
int reentry_open_spare(void);

/* Sets the guest's state, and the verdict, by its request. */
void reentry_decide(struct reentry *reentry, struct guest *guest,
                    const struct wire_request *request);

#endif
