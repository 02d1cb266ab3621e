/*
 * --once-per: whether a run is due, asked of the ensemble by the holder of a lock, and the note
 * that one has succeeded.  A state machine without a clock or a loop of its own, beside the lock's.
 *
 *     once_new()           when the lock is held
 *     for every event of the session: once_handle(), until once_phase() is not ONCE_ASKING
 *     once_note_success()  when the command has succeeded, the lock still held; events until it
 *                          is not ONCE_NOTING
 *     once_free()          at any time
 *
 * All times are the ensemble's, as its leader wrote them into Stats.  The host's own clock measures
 * one span only, for how long the caller has waited.  One thread; see session.h.
 */
#ifndef ZKFLOCK_ONCE_H
#define ZKFLOCK_ONCE_H

#include <stdint.h>

#include "base/exitcode.h"
#include "ensemble/session.h"

struct once;

enum once_phase {
    ONCE_ASKING,
    ONCE_DUE,
    ONCE_RECENT, /* the last success is too recent */
    ONCE_NOTING,
    ONCE_NOTED,
    ONCE_FAILED, /* once_failure() says why */
};

/*
 * Begins to ask for the lock at this path, held as node; both are copied.  period is in ns, and
 * started_at is when the caller began to wait for the lock, by clock_now().  tag is one that nobody
 * else uses in the session, which has to live as long.
 */
struct once *once_new(struct session *session, int tag, const char *lock, const char *node,
                      int64_t period, int64_t started_at);

/* Takes an event of the session, every one of them. */
void once_handle(struct once *once, const struct session_event *event);

enum once_phase once_phase(const struct once *once);

/*
 * Returns how long before the ensemble's present the last success began, ns; once asked.  It is
 * below 0 if that lies ahead; in ONCE_DUE it then does so by more than the period.
 */
int64_t once_ago(const struct once *once);

/*
 * Notes that the run which was due has succeeded; it began when that was found out.  Nothing is
 * written if the lock is no longer held.
 */
void once_note_success(struct once *once);

/* ONCE_FAILED: the exit status and *message, a sentence that lives as long as once. */
enum exitcode once_failure(const struct once *once, const char **message);

/* NULL is allowed. */
void once_free(struct once *once);

#endif
