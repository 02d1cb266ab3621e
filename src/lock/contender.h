/*
 * What a contender writes into its znode, and what can be told from what others wrote: three lines,
 *
 *     zkflock/1 held exclusive
 *     ci@runner7 pid 4711: make deploy
 *     since=2026-11-22T02:40:10Z kind=exclusive lease=15000ms version=0.1.0
 *
 * The first one is for those who wait: waiting or held, exclusive or shared.  Who finds a lock free
 * holds it without writing anew, and goes on as waiting.  The third one tells
 *
 *     since=TIME      since when that is so, by the clock of the contender's host
 *     kind=KIND       exclusive, shared, unfair or permit
 *     permits=N       of a semaphore: how many there are
 *     lease=NUMBERms  as far as it is known to the contender
 *     settling=NUMBERms  now begins to wait so long for a holder that vanished; left out if not
 *     held_ms=NUMBER  by the ensemble's clock, added by who asks for the lock: see revocation.h
 *     delay=0         it does not wait for holders that vanished; left out if it does
 *     version=TEXT    of zkflock
 *
 * in any order and with others between them, which readers skip.
 *
 * Others may write there that they want the lock, see revocation.h.
 */
#ifndef ZKFLOCK_CONTENDER_H
#define ZKFLOCK_CONTENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum contender_state { CONTENDER_WAITING, CONTENDER_HELD };

enum contender_kind {
    CONTENDER_EXCLUSIVE,
    CONTENDER_SHARED,
    CONTENDER_UNFAIR,
    CONTENDER_PERMIT,
};

/* Room for the second line and its end. */
#define CONTENDER_WHO_SIZE 256

/* Makes the second line, for this process and what it will run.  Before the first thread. */
void contender_introduce(char *const *argv);

/* The second line, without its end. */
const char *contender_self(void);

/* What a contender tells of itself beside who it is. */
struct contender_terms {
    enum contender_kind kind;
    int32_t permits; /* CONTENDER_PERMIT: how many there are; else 0 */
    int64_t lease_ms;
    bool no_delay;       /* it does not wait for holders that vanished */
    int64_t settling_ms; /* how long it waits for a holder that vanished; 0: it does not */
};

/* The text for a znode in this state, to be freed. */
char *contender_encode(enum contender_state state, const struct contender_terms *terms);

/* Returns true if these bytes begin with text. */
bool contender_begins(const char *data, size_t len, const char *text);

/*
 * Returns true if these bytes, of anybody's making, say that their znode holds the lock
 * exclusively. A waiter may then rely on it that nobody stands before that znode.
 */
bool contender_holds_exclusively(const char *data, size_t len);

/*
 * Finds out who wrote these bytes, of anybody's making; empty where they do not tell.  Nothing that
 * could change a terminal or a log gets through.  Returns who.
 */
const char *contender_who(const char *data, size_t len, char who[CONTENDER_WHO_SIZE]);

/* Copies bytes of anybody's making; what is no printable ASCII becomes a question mark. */
void contender_copy_printable(char *to, size_t size, const char *from, size_t len);

/*
 * What bytes of anybody's making tell of their writer.  All texts are printable ASCII; what is not
 * told is empty or 0.
 */
struct contender {
    bool known; /* zkflock has written it: the rest may be told, but for the address */
    bool held;
    char user[65];
    char host[65];
    int64_t pid;
    char command[CONTENDER_WHO_SIZE];
    char since[24];
    int64_t held_ms;              /* since 1970, by the ensemble's clock; 0: the Stat tells */
    struct contender_terms terms; /* exclusive, where the kind is not told */
    char version[24];
    char address[46]; /* all that another client has written is this, as Curator does */
};

void contender_decode(const char *data, size_t len, struct contender *contender);

/* Since when it holds the lock, if it does, from these times of its znode, ms since 1970. */
int64_t contender_held_since(const struct contender *contender, int64_t ctime, int64_t mtime);

#endif
