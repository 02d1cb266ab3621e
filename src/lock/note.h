/*
 * The note of --once-per: when the last run of a lock's command that succeeded began, by the
 * ensemble's clock.
 *
 * It is one line of text in a persistent znode beside the lock's own, not below it, where whatever
 * comes and goes is counted.  No lock can have its name.
 */
#ifndef ZKFLOCK_NOTE_H
#define ZKFLOCK_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What follows the lock's path in the note's. */
#define NOTE_SUFFIX ".once"

#define NOTE_SIZE 64

/* Instead of a time: no run has succeeded yet. */
#define NOTE_NEVER INT64_C(0)

/* The path of the note for the lock at this path; to be freed. */
char *note_path(const char *lock);

/* Returns true if this is the path of a note. */
bool note_is_path(const char *path);

/* Writes the note's text for a time in ms since 1970; returns its length, below NOTE_SIZE. */
size_t note_encode(int64_t began, char text[NOTE_SIZE]);

/*
 * Reads len bytes of anybody's making; returns whether they are a note of this version.  None at
 * all are one that says NOTE_NEVER: so a znode with an ACL of its own can be made beforehand.
 */
bool note_decode(const char *text, size_t len, int64_t *began);

enum note_verdict {
    NOTE_DUE,    /* the last success began too long ago, or there was none */
    NOTE_RECENT, /* it did not, or it lies a little ahead: servers' clocks differ */
    NOTE_AHEAD,  /* it lies ahead by more than the period: some server's clock is or was wrong */
};

/*
 * Whether a run is due; all in ms.  It is if more than the period lies between the begin of the
 * last success and the time when the caller began to wait, which it has done for waited, 0 or more:
 * who waited for that success does not run again, however long the job took.  *ago is how long ago
 * the last success began, below 0 where it lies ahead.
 */
enum note_verdict note_judge(int64_t began, int64_t now, int64_t waited, int64_t period,
                             int64_t *ago);

#endif
