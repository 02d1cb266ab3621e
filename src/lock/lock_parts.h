/*
 * The files that make up the protocol, for each other and for nobody else:
 *
 *     lock_new.c     a lock is made, and freed
 *     lock.c         events and steps, and who takes them; its head has the diagram
 *     queue_watch.c  the wait for the predecessor
 *     queue.c        from nothing to the head of the queue
 *     permit.c       the same for a permit of a semaphore
 *     early.c        proofs that the next in the queue sends while it waits
 *     accept.c       is the znode one that can be taken?  locks and semaphores on one path
 *     held.c         while it is held: proofs of life, and how it is lost
 *     count.c        may the command start? the departures that nobody counted
 *     leave.c        giving a place or the lock back, giving up, and removing the lock
 *     step.c, step_write.c
 *                    what each step asks of the ensemble
 *     flight.c       the answers to a step, gathered
 *     above.c        the answers about the znodes above the lock's
 *     lock_state.c   what all of them do to the state, see lock_state.h
 *     lock_check.c   which parts of the state go together
 *
 * Each uses those below it.
 */
#ifndef ZKFLOCK_LOCK_PARTS_H
#define ZKFLOCK_LOCK_PARTS_H

#include "lock/lock_state.h"

/* ---- step.c: each sends the requests of one step; flight_landed() in lock.c takes it on ---- */

/* Returns the data for the own znode, to be freed; settling_ms: see struct contender_terms. */
char *step_own_data(const struct lock *lock, enum contender_state state, int64_t settling_ms);

/* Makes /a, /a/b and, with the record, /a/b/c for the lock /a/b/c. */
void step_make_parents(struct lock *lock);

/* Asks for the ACL of the lock's znode, for the own one. */
void step_ask_acl(struct lock *lock);

/*
 * Creates the own znode and reads the parent.  A client with credentials that does not know the ACL
 * asks for it first.
 */
void step_join(struct lock *lock);

/* The same, with a new GUID: somebody deleted the own znode, or a back-off whose answer was lost.
 */
void step_rejoin(struct lock *lock);

/* Lists behind a sync, after a create whose answer was lost; reads the parent. */
void step_find(struct lock *lock);

/* Lists, reads the parent, reads the own znode. */
void step_list(struct lock *lock);

/* Reads the predecessor and watches it; reads the parent. */
void step_watch(struct lock *lock);

/* Asks the ensemble, by a write, whether the predecessor is there; puts that question off. */
void step_verify(struct lock *lock);
void step_verify_later(struct lock *lock);

/* Marks the own znode as held, a committed write; then reads the parent. */
void step_prove(struct lock *lock);

/* Reads the parent, then the own znode. */
void step_census(struct lock *lock);

/* Early proofs; beside the steps.  Announcing writes to the own znode, proving only checks it. */
void step_announce(struct lock *lock);
void step_prove_early(struct lock *lock);

/* Marks the own znode as held; beside the steps. */
void step_mark(struct lock *lock);

/* Writes into the own znode for how long, ns, a vanished holder is waited for; beside the steps. */
void step_tell_settling(struct lock *lock, int64_t settling);

/* Reads the parent for its version. */
void step_read_version(struct lock *lock);

/* Lists behind a committed write, so that nothing is under way any more; reads the parent. */
void step_sweep(struct lock *lock);

/* Looks whose the own znode is, whose name does not tell; reads the parent. */
void step_claim(struct lock *lock);

/* Lists and watches the children of a semaphore that has no permit left; reads the parent. */
void step_count(struct lock *lock);

/* ---- step_write.c: the same, for those that write to the lock's znode or delete one ---- */

/* Counts out vanished contenders, LOCK_SQUARE_MAX at the most, if nothing has changed. */
void step_square(struct lock *lock, uint32_t count);

/* Does the same in the znode above a semaphore's, for those that vanished from a lock there. */
void step_square_above(struct lock *lock);

/* Writes a record with this base into a lock's znode that has none. */
void step_adopt(struct lock *lock, uint32_t base);

/* Asks for the right to write to the lock's znode, by a write that cannot be carried out. */
void step_ask_write(struct lock *lock);

/* Deletes the own znode, counted where there is a record to count in. */
void step_leave(struct lock *lock);

/* Does the same for an --unfair contender that has found others, and will join again. */
void step_back_off(struct lock *lock);

/* Deletes the own znode, the lock's and the others in one transaction, if nobody has left or come.
 */
void step_remove(struct lock *lock);

/* ---- queue.c: goes on when a step was answered; takes JOIN and FIND again ---- */

void queue_parents_made(struct lock *lock);
void queue_acl_asked(struct lock *lock);
void queue_joined(struct lock *lock);
void queue_found(struct lock *lock);
void queue_listed(struct lock *lock);
void queue_backed_off(struct lock *lock);
void queue_proven(struct lock *lock);
void queue_join_again(struct lock *lock);
void queue_find_again(struct lock *lock);

/* Takes the predecessor for the own znode, which a create whose answer was lost has made. */
void queue_take_as_own(struct lock *lock);

/* ---- queue_watch.c ---- */

/* Go on when WATCH and VERIFY were answered; sets the watch again. */
void queue_watching(struct lock *lock);
void queue_verified(struct lock *lock);
void queue_watch_again(struct lock *lock);

/* Verifies when it is time, while nothing else is under way; returns when to call again. */
int64_t queue_tick(struct lock *lock);

/* Goes on when the watch on the predecessor has fired. */
void queue_predecessor_changed(struct lock *lock, int watch_type);

/* ---- early.c ---- */

/* Notes with which record the own znode was made.  Both were read by JOIN. */
void early_joined(struct lock *lock);

/* Sends an early proof if one is due; returns when to call again.  The lock has to be idle. */
int64_t early_tick(struct lock *lock);

/* Take the answers to step_announce() or step_prove_early(), and to step_mark(). */
void early_answered(struct lock *lock, const struct session_event *event);
void early_marked(struct lock *lock, const struct session_event *event);

/* Returns true if an early proof, answered or under way, is worth a CENSUS behind the deletion. */
bool early_is_proven(const struct lock *lock);

/* Holds the lock, or proves anew, when CENSUS was answered. */
void early_counted(struct lock *lock);

/* Begins anew behind a predecessor; the list and the lock's znode behind it have been read. */
void early_queued(struct lock *lock);

/* Forgets the early proofs: contact was lost, or who is ahead has changed. */
void early_forget(struct lock *lock);

/* ---- held.c ---- */

/* Take the answers to what lock_prove() and held_tick() sent, and the watch on the own znode. */
void held_proof_answered(struct lock *lock, const struct session_event *event);
void held_proof_claimed(struct lock *lock, const struct session_event *event);
void held_own_watched(struct lock *lock, const struct session_event *event);
void held_own_changed(struct lock *lock, int watch_type);

/* Watches the own znode when it is time; returns when to call again. */
int64_t held_tick(struct lock *lock);

/* Loses the lock; text, a sentence, is the lock's from now on. */
void held_lose(struct lock *lock, char *text);

/* ---- permit.c ---- */

/* Returns true if the permits in use, the own one among them, are no more than there are. */
bool permit_left(const struct lock *lock);

/* Decides by a fresh census whether there is a permit, and takes what follows. */
void permit_consider(struct lock *lock);

/* Goes on when COUNT was answered. */
void permit_counted(struct lock *lock);

/* ---- accept.c ---- */

/*
 * Return true if a lock, or a permit, can be taken at the lock's znode; otherwise leave.  The
 * second looks at the znodes above alone, which is all that is known before the lock's znode is
 * made.
 */
bool accept_znode(struct lock *lock);
bool accept_above(struct lock *lock);

/* ---- above.c ---- */

/*
 * Asks, in the same flight, about those children of path in the list that may be permits of a kazoo
 * Semaphore: their names do not tell them from locks.  The second returns true if an answer says
 * so.
 */
void above_ask_kazoo(struct lock *lock, const struct session_event *list, const char *path,
                     enum tag tag);
bool above_is_kazoo(const struct session_event *event);

/*
 * Takes in an answer about the znodes above: TAG_OUTER first, TAG_ABOVE, TAG_ABOVE_DATA, then those
 * of TAG_ABOVE_KAZOO.
 */
void above_note(struct lock *lock, const struct session_event *event);

/* ---- flight.c ---- */

/* Forgets the answers to the last step: nothing has been asked. */
void flight_forget(struct lock *lock);

/* Begins a step that will send this many requests. */
void flight_take_off(struct lock *lock, enum step step, unsigned int requests);

/* Keeps what the later decision needs of an answer; the event itself does not last. */
void flight_note_answer(struct lock *lock, const struct session_event *event);

/* ---- count.c ---- */

/*
 * First in the queue and proven, and the census was read behind the proof: holds the lock, or
 * takes what has to be done first.
 */
void count_consider(struct lock *lock);

/* Returns true if nothing has to be waited for or written before the command may start. */
bool count_is_clear(const struct lock *lock);

/* Returns true if the count that was read can be right, if there is one. */
bool count_plausible(const struct lock *lock);

/* Warns that the count cannot be right, wherever it is read, and has the record written anew. */
void count_distrust(struct lock *lock);

/* Go on when SQUARE, SQUARE_ABOVE, ADOPT or ASK_WRITE was answered. */
void count_squared(struct lock *lock);
void count_squared_above(struct lock *lock);
void count_adopted(struct lock *lock);
void count_write_asked(struct lock *lock);

/* ---- own_acl.c ---- */

/* Notes the answer to ASK_ACL. */
void own_acl_note(struct lock *lock, const struct session_event *event);

/*
 * Returns true if the ACL of the own znode may keep this client from reading it, which each proof
 * of life needs.
 */
bool own_acl_is_doubtful(const struct lock *lock);

/* Gives the own znode the session's ACL, in a lock of this czxid and aversion. */
void own_acl_take_sessions(struct lock *lock, int64_t czxid, int32_t aversion);

/* ---- leave.c ---- */

/* Starts to leave; a flight under way is waited for first, its landing calls this again. */
void leave_begin(struct lock *lock);

/* Leaves on the lock's own account, for lock_failure() to tell; rc: of a request that failed. */
void leave_because(struct lock *lock, enum exitcode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void leave_because_rc(struct lock *lock, int rc, const char *what, const char *path);

/* Does the same for the last create that was refused: the znodes above that one exist. */
void leave_because_ancestor(struct lock *lock);

/* Ends in LOCK_LEFT, or sweeps on. */
void leave_done(struct lock *lock);

/* Go on when SWEEP or CLAIM was answered. */
void leave_swept(struct lock *lock);
void leave_claimed(struct lock *lock);

/* Go on when REMOVE was answered, or will not be because the session expired. */
void leave_removed(struct lock *lock);
void leave_uncertain(struct lock *lock);

/* Gives up counting the departure, for want of a right. */
void leave_uncounted(struct lock *lock);

/* Goes on when LEAVE was answered. */
void leave_answered(struct lock *lock);

/* Leaves once more: LEAVE was not carried out, or its answer was lost. */
void leave_again(struct lock *lock);

#endif
