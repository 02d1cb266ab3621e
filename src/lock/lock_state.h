/*
 * The inside of struct lock, shared by the files that make up the protocol and by nobody else:
 *
 *     lock.c         events and steps, and who takes them; its head has the diagram
 *     queue.c        from nothing to the head of the queue
 *     permit.c       the same for a permit of a semaphore
 *     accept.c       is the znode one that can be taken?  locks and semaphores on one path
 *     held.c         while it is held: proofs of life, and how it is lost
 *     count.c        may the command start? the departures that nobody counted
 *     leave.c        giving a place or the lock back, giving up, and removing the lock
 *     step.c         what each step asks of the ensemble
 *     flight.c       the answers to a step, gathered
 *     lock_state.c   what all of them do to the state
 *
 * Each uses those below it.
 */
#ifndef ZKFLOCK_LOCK_STATE_H
#define ZKFLOCK_LOCK_STATE_H

#include <stdbool.h>

#include "lock/contender.h"
#include "lock/lock.h"
#include "lock/recipe.h"
#include "lock/record.h"

enum step {
    STEP_NONE,
    STEP_MAKE_PARENTS,
    STEP_JOIN,
    STEP_FIND,
    STEP_LIST,
    STEP_WATCH,
    STEP_BACK_OFF,
    STEP_COUNT,
    STEP_VERIFY,
    STEP_PROVE,
    STEP_SQUARE,
    STEP_SQUARE_ABOVE,
    STEP_ADOPT,
    STEP_ASK_WRITE,
    STEP_READ_VERSION, /* this and those below belong to leaving */
    STEP_LEAVE,
    STEP_REMOVE,
    STEP_SWEEP,
    STEP_CLAIM,
    STEP_END,
};

/* What a request was for; its answer carries it. */
enum tag {
    TAG_ANCESTOR,
    TAG_CREATE,
    TAG_SYNC,
    TAG_CHILDREN,
    TAG_KAZOO,
    TAG_OUTER,
    TAG_ABOVE,
    TAG_ABOVE_DATA,
    TAG_ABOVE_KAZOO,
    TAG_PARENT,
    TAG_OWN,
    TAG_PREDECESSOR,
    TAG_MULTI,
    TAG_DELETE,
    TAG_COUNT,
    TAG_PROOF,     /* of no step, like */
    TAG_PROOF_OWN, /* these */
    TAG_OWN_WATCH,
    TAG_SETTLING,
    TAG_LIMIT,
};

enum {
    LOCK_GUID_BYTES = (LOCK_GUID_SIZE - 1) / 2,
    LOCK_SQUARE_MAX = 500,     /* sets in one transaction; 4,000 take 36 ms */
    LOCK_LEAVE_CAUTIOUSLY = 5, /* tries with the version that was read, before any will do */
    LOCK_REMAKE_MAX = 10,      /* times that a lock may be removed under our hands */
};

enum record_state {
    RECORD_UNKNOWN,  /* not read yet */
    RECORD_OURS,     /* lock->record holds */
    RECORD_NONE,     /* the znode is empty: made by somebody else, may be adopted */
    RECORD_NEEDLESS, /* the znode is empty, and a turn needs no record: nothing is counted there */
    RECORD_FOREIGN,  /* the znode holds something else: it is no lock */
};

/*
 * Whether departures can be counted in the lock's znode; never better than it was found to be,
 * unless the record was written anew.
 */
enum counting {
    COUNTING_UNTRIED,   /* as far as is known */
    COUNTING_PERMITTED, /* a write of ours was carried out, or would have been */
    COUNTING_FORBIDDEN, /* by the znode's ACL */
    COUNTING_WRONG,     /* the count cannot be right: wait, then write the record anew */
};

/* What is known of the znode above a semaphore's two, where a lock may have stood, or above one
 * that is called like one of the two.
 */
struct above {
    bool read;         /* behind the own create, list and data; the rest holds only then */
    size_t contenders; /* of that lock */
    bool is_lock;      /* it has a lock's record */
    bool is_kazoo_semaphore;
    bool is_semaphore; /* as zkflock and Curator make it */
    bool is_part;      /* of a semaphore at outer_path */
    int32_t version;
    uint32_t vanished; /* from that lock, and not counted out */
};

struct lock {
    struct session *session;
    char *path;
    char *above_path; /* NULL: it may be anything */
    char *outer_path; /* above that one, where a semaphore is called like a part of one; or NULL */
    int tag_base;     /* tells the answers to this lock from those to others in the same session */
    enum lock_phase phase;
    enum step step;
    bool leaving;
    bool sweeping; /* lock_resume(): leaves until nothing is found */
    struct lock_terms terms;

    /* the flight */
    unsigned int pending;
    bool unknown;       /* an answer of it was lost */
    bool other_session; /* it was asked of a session that is no more */
    bool retry;         /* the step is to be taken again once there is contact */
    int rc[TAG_COUNT];
    int failed_op; /* of the last answer: which part of a multi its rc is of */
    /* the last trouble with a znode above the lock's, and how many levels above it that one is */
    int ancestor_rc; /* ZOK: none, but that they were there, or the one above was not */
    unsigned int ancestor_depth;
    int64_t sent;     /* when its first request was */
    int64_t received; /* when its last answer came */

    /* the lock's znode */
    struct record record;   /* its lease is that of the lock in any state but UNKNOWN */
    struct record adopting; /* by the step under way */
    enum record_state record_state;
    enum counting counting;
    struct recipe_census census;
    int64_t pzxid; /* the last change to the children */
    unsigned int remade;
    bool told_of_strangers;
    bool is_around; /* what a zkflock around this one holds stands in this queue */
    bool is_kazoo_semaphore;
    bool is_semaphore;    /* has the znodes of one below it */
    size_t listed;        /* contenders in the last list */
    int64_t listed_pzxid; /* the last change to the children that the list shows; 0: no list */
    bool made;            /* by this contender */
    bool undo;            /* on leaving it goes too: it should not have been made */
    struct above above;

    /* the own znode */
    char guid[LOCK_GUID_SIZE];
    char *node; /* NULL: not made, as far as is known */
    int64_t czxid;
    int64_t owner;      /* its session, as last read */
    int64_t ctime;      /* its time, ms since the epoch; 0: not known */
    int64_t created_at; /* and when that was by the own clock */
    int32_t version;
    bool revoked; /* somebody has asked for it to be given up */
    char revoked_by[CONTENDER_WHO_SIZE];

    /* the queue */
    struct recipe_place place; /* its strings are gone; the rest holds */
    char *predecessor;         /* path */
    int64_t verify_at;         /* when to ask the ensemble whether it is still there */
    bool predecessor_holds;    /* alone, and the count that was read with that can be right */
    bool changed_meanwhile;    /* the watch that the step under way has set has fired */
    bool count_doubted;        /* another server was turned to for its sake */
    int64_t predecessor_owner; /* its session */
    int64_t doubted_czxid;     /* of a predecessor that the ensemble says is gone; else 0 */
    int64_t predecessor_czxid;

    /* settling */
    int64_t settled_at; /* in SETTLING: when it ends */
    bool settled;
    struct recipe_census settling; /* as it was when the wait began */
    uint32_t waited_for; /* vanished then, and not squared since; less one square whose answer was
                            lost, which may have been carried out */
    uint32_t squaring;   /* by the step under way */

    int64_t proof_sent; /* when the last write that names the own znode was sent */
    bool waited;        /* since the create, which then is no proof any more */
    bool backing_off;   /* the own znode is being deleted, to be made again later */
    int64_t proven_at;
    int64_t checked_at;   /* as proven_at, but whose znode it was is not known yet */
    int64_t watch_own_at; /* CLOCK_NEVER: it is being watched */
    unsigned int leave_tries;

    /* to be removed with the lock */
    const struct lock_znode *others;
    size_t others_len;
    unsigned int remove_tries;

    enum exitcode failure;
    char *failure_text;
};

/* ---- lock_state.c ---- */

/* The tag of a request in the session. */
static inline int lock_tag(const struct lock *lock, enum tag tag)
{
    return lock->tag_base + (int)tag;
}

/* Whether the own znode is known by its name. */
static inline bool lock_knows_own(const struct lock *lock)
{
    return naming_has_guid(&lock->terms.naming, lock->terms.kind);
}

/* Takes a new identity, for a new session or a new place. */
void lock_renew_guid(struct lock *lock);

/* Forgets the own znode and all that was known of its place. */
void lock_forget_place(struct lock *lock);

/* Nothing that was is of use any more: LOCK_OUT. */
void lock_start_over(struct lock *lock);

/*
 * Takes in what an answer tells of the own znode; its data, if the answer has it, may ask for the
 * lock to be given up.  Of another session's of the same name only that is noted: lock_owns().
 */
void lock_note_own(struct lock *lock, const struct session_event *event);

/* Whether the znode of the own name was this session's when it was last read. */
bool lock_owns(const struct lock *lock);

/* The last proof holds the lock. */
void lock_enter_held(struct lock *lock);

/* The ACL of the lock's znode forbids counting in it: warns, and does without from now on. */
void lock_count_no_more(struct lock *lock);

/*
 * Whether a departure is counted: in the record, or where there is none yet in the version alone,
 * for whoever looks at the znode then.
 */
static inline bool lock_counts(const struct lock *lock)
{
    return (lock->record_state == RECORD_OURS || lock->record_state == RECORD_NONE) &&
           (lock->counting == COUNTING_UNTRIED || lock->counting == COUNTING_PERMITTED);
}

/* The children of a semaphore that take a permit, as far as they are known to be contenders. */
static inline size_t lock_permits_taken(const struct lock *lock)
{
    return lock->listed_pzxid == lock->pzxid ? lock->listed : (size_t)lock->census.children;
}

/*
 * The lease of a lock whose znode has no record, ms.  Whoever may not write there holds by the
 * default, so that nobody may go below it; and nobody who may not write may go beyond it.
 */
int64_t lock_lease_without_record(const struct lock *lock);

/* ---- step.c: each sends the requests of one step; flight_landed() in lock.c takes it on ---- */

/* For /a/b/c makes /a, /a/b and, with the record, /a/b/c. */
void step_make_parents(struct lock *lock);

/* Makes the own znode, reads the parent. */
void step_join(struct lock *lock);

/* After a create whose answer was lost: lists behind a sync, reads the parent. */
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

/* Writes into the own znode that a vanished holder is waited for, so long, ns; of no step. */
void step_tell_settling(struct lock *lock, int64_t settling);

/* Counts out vanished contenders, LOCK_SQUARE_MAX at the most, if nothing has changed. */
void step_square(struct lock *lock, uint32_t count);

/* The same in the znode above a semaphore's, of those that vanished from a lock there. */
void step_square_above(struct lock *lock);

/* Writes a record with this base into a lock's znode that has none. */
void step_adopt(struct lock *lock, uint32_t base);

/* Asks for the right to write to the lock's znode, by a write that cannot be carried out. */
void step_ask_write(struct lock *lock);

/* Reads the parent for its version. */
void step_read_version(struct lock *lock);

/* Behind a committed write, so that nothing is under way any more: lists, reads the parent. */
void step_sweep(struct lock *lock);

/* Looks whose the own znode is, whose name does not tell; reads the parent. */
void step_claim(struct lock *lock);

/* Lists and watches the children, reads the parent: for a semaphore that has no permit left. */
void step_count(struct lock *lock);

/* Deletes the own znode, counted where there is a record to count in. */
void step_leave(struct lock *lock);

/* Deletes it together with the lock's znode and the others, if nobody has left or come. */
void step_remove(struct lock *lock);

/* The same as step_leave(), to queue up again: unfair, and others were found. */
void step_back_off(struct lock *lock);

/* ---- queue.c: what follows each step, and how JOIN and FIND are taken again ---- */

void queue_parents_made(struct lock *lock);
void queue_joined(struct lock *lock);
void queue_found(struct lock *lock);
void queue_listed(struct lock *lock);
void queue_watching(struct lock *lock);
void queue_backed_off(struct lock *lock);
void queue_proven(struct lock *lock);
void queue_join_again(struct lock *lock);
void queue_find_again(struct lock *lock);

/* VERIFY was answered. */
void queue_verified(struct lock *lock);
void queue_watch_again(struct lock *lock);

/* Verifies when it is time, while nothing else is under way; returns when to call again. */
int64_t queue_tick(struct lock *lock);

/* The watch on the predecessor has fired. */
void queue_predecessor_changed(struct lock *lock, int watch_type);

/* ---- held.c ---- */

/* Answers to what lock_prove() and held_tick() sent; the watch on the own znode has fired. */
void held_proof_answered(struct lock *lock, const struct session_event *event);
void held_proof_claimed(struct lock *lock, const struct session_event *event);
void held_own_watched(struct lock *lock, const struct session_event *event);
void held_own_changed(struct lock *lock, int watch_type);

/* Watches the own znode when it is time; returns when to call again. */
int64_t held_tick(struct lock *lock);

/* The lock is gone; text, a sentence, is the lock's from now on. */
void held_lose(struct lock *lock, char *text);

/* ---- permit.c ---- */

/* Whether the permits in use, the own one among them, are no more than there are. */
bool permit_left(const struct lock *lock);

/* The census is known: are there few enough?  Takes what follows. */
void permit_consider(struct lock *lock);

/* COUNT was answered. */
void permit_counted(struct lock *lock);

/* ---- accept.c ---- */

/*
 * Whether the lock's znode can be relied on, and before that, whether a semaphore's place is taken
 * by a lock; leaves otherwise.
 */
bool accept_znode(struct lock *lock);
bool accept_above(struct lock *lock);

/* ---- above.c ---- */

/*
 * A name does not tell whether a child of path is a permit of a kazoo Semaphore or a lock: asks
 * about those in the list that may be one, in the same flight, and whether such an answer is that
 * of one.
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

/* Whether the count that was read can be right, if there is one. */
bool count_plausible(const struct lock *lock);

/* It cannot be right, wherever it is read: warns, and does without from now on. */
void count_distrust(struct lock *lock);

/* SQUARE, SQUARE_ABOVE, ADOPT or ASK_WRITE was answered. */
void count_squared(struct lock *lock);
void count_squared_above(struct lock *lock);
void count_adopted(struct lock *lock);
void count_write_asked(struct lock *lock);

/* ---- leave.c ---- */

/* Starts to leave; a flight under way is waited for first, its landing calls this again. */
void leave_begin(struct lock *lock);

/* Leaves on the lock's own account, for lock_failure() to tell; rc: of a request that failed. */
void leave_because(struct lock *lock, enum exitcode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void leave_because_rc(struct lock *lock, int rc, const char *what, const char *path);

/* Nothing is left. */
void leave_done(struct lock *lock);

/* SWEEP, CLAIM or LEAVE was answered. */
void leave_swept(struct lock *lock);
void leave_claimed(struct lock *lock);

/* REMOVE was answered; or will not be, because the session expired. */
void leave_removed(struct lock *lock);
void leave_uncertain(struct lock *lock);

/* The departure cannot be counted for want of a right: does without. */
void leave_uncounted(struct lock *lock);

/* LEAVE was not carried out, or nobody knows. */
void leave_again(struct lock *lock);
void leave_answered(struct lock *lock);

#endif
