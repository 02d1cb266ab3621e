/*
 * The inside of struct lock, shared by the files that make up the protocol and by nobody else:
 *
 *     lock.c         the states and what leads from one to the next; its head has the diagram
 *     count.c        may the command start? the departures that nobody counted
 *     leave.c        giving a place or the lock back, and giving up
 *     step.c         what each step asks of the ensemble
 *     flight.c       the answers to a step, gathered
 *     lock_state.c   what all of them do to the state
 *
 * Each uses those below it.
 */
#ifndef ZKFLOCK_LOCK_STATE_H
#define ZKFLOCK_LOCK_STATE_H

#include <stdbool.h>

#include "lock.h"
#include "recipe.h"
#include "record.h"

enum step {
    STEP_NONE,
    STEP_MAKE_PARENTS,
    STEP_JOIN,
    STEP_FIND,
    STEP_LIST,
    STEP_WATCH,
    STEP_PROVE,
    STEP_SQUARE,
    STEP_ADOPT,
    STEP_READ_VERSION,
    STEP_LEAVE,
};

/* What a request was for; its answer carries it. */
enum tag {
    TAG_ANCESTOR,
    TAG_CREATE,
    TAG_SYNC,
    TAG_CHILDREN,
    TAG_PARENT,
    TAG_OWN,
    TAG_PREDECESSOR,
    TAG_MULTI,
    TAG_DELETE,
    TAG_COUNT,
    TAG_PROOF, /* of no step */
};

enum {
    LOCK_GUID_BYTES = 16,
    LOCK_SQUARE_MAX = 500,     /* sets in one transaction; 4,000 take 36 ms */
    LOCK_LEAVE_CAUTIOUSLY = 5, /* tries with the version that was read, before any will do */
    LOCK_REMAKE_MAX = 10,      /* times that a lock may be removed under our hands */
};

enum record_state {
    RECORD_UNKNOWN, /* not read yet */
    RECORD_OURS,    /* lock->record holds */
    RECORD_NONE,    /* the znode is empty: made by somebody else, may be adopted */
    RECORD_FOREIGN, /* the znode holds something else: it is no lock */
    RECORD_BROKEN,  /* the count cannot be right: wait, never square, never count */
};

struct lock {
    struct session *session;
    char *path;
    enum lock_phase phase;
    enum step step;
    bool leaving;

    /* the flight */
    unsigned int pending;
    bool unknown; /* an answer of it was lost */
    bool retry;   /* the step is to be taken again once there is contact */
    int rc[TAG_COUNT];
    int ancestor_rc;  /* the first trouble with one of the znodes above the lock's */
    int64_t sent;     /* when its first request was */
    int64_t received; /* when its last answer came */

    /* the lock's znode */
    struct record record;
    enum record_state record_state;
    size_t foreign_len; /* of what the znode holds, RECORD_FOREIGN */
    struct recipe_census census;
    unsigned int remade;

    /* the own znode */
    char guid[2 * LOCK_GUID_BYTES + 1];
    char *node; /* NULL: not made, as far as is known */
    int64_t czxid;

    /* the queue */
    struct recipe_place place; /* its strings are gone; found, ahead hold */
    char *predecessor;         /* path */
    bool predecessor_holds;

    /* settling */
    int64_t settled_at; /* CLOCK_NEVER: not begun */
    bool settled;

    int64_t proof_sent; /* when the last write that names the own znode was sent */
    bool waited;        /* since the create, which then is no proof any more */
    int64_t proven_at;
    unsigned int leave_tries;

    enum exitcode failure;
    char *failure_text;
};

/* ---- lock_state.c ---- */

/* Takes a new identity, for a new session or a new place. */
void lock_renew_guid(struct lock *lock);

/* Forgets the own znode and all that was known of its place. */
void lock_forget_place(struct lock *lock);

/* The last proof holds the lock. */
void lock_enter_held(struct lock *lock);

/* The ACL of the lock's znode forbids counting in it: warns, and does without from now on. */
void lock_count_no_more(struct lock *lock);

/* ---- step.c: each sends the requests of one step; flight_landed() in lock.c takes it on ---- */

/* For /a/b/c makes /a, /a/b and, with the record, /a/b/c. */
void step_make_parents(struct lock *lock);

/* Makes the own znode, reads the parent. */
void step_join(struct lock *lock);

/* After a create whose answer was lost: lists behind a sync, reads the parent. */
void step_find(struct lock *lock);

/* Looks at the own znode, lists, reads the parent. */
void step_list(struct lock *lock);

/* Reads the predecessor and watches it. */
void step_watch(struct lock *lock);

/* Marks the own znode as held, a committed write; then reads the parent. */
void step_prove(struct lock *lock);

/* Counts out vanished contenders, LOCK_SQUARE_MAX at the most, if nothing has changed. */
void step_square(struct lock *lock, uint32_t count);

/* Writes a record into a lock's znode that has none. */
void step_adopt(struct lock *lock);

/* Reads the parent for its version. */
void step_read_version(struct lock *lock);

/* Deletes the own znode, counted where there is a record to count in. */
void step_leave(struct lock *lock);

/* ---- flight.c ---- */

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

/* SQUARE or ADOPT was answered. */
void count_written(struct lock *lock);

/* ---- leave.c ---- */

/* Starts to leave; a flight under way is waited for first, its landing calls this again. */
void leave_begin(struct lock *lock);

/* Leaves on the lock's own account, for lock_failure() to tell; rc: of a request that failed. */
void leave_because(struct lock *lock, enum exitcode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void leave_because_rc(struct lock *lock, int rc, const char *what, const char *path);

/* Nothing is left. */
void leave_done(struct lock *lock);

/* READ_VERSION or LEAVE was answered. */
void leave_version_read(struct lock *lock);
void leave_answered(struct lock *lock);

#endif
