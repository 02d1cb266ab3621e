/*
 * The state of a contender, for the files that make up the protocol and for nobody else; see
 * lock_parts.h.
 *
 * Between two calls of lock.h a step is in one of three states:
 *
 *     none       step NONE, pending 0, no retry
 *     under way  answers are pending, no retry
 *     lost       pending 0, retry: an answer was lost, the step is taken again with contact
 *
 * These go together then; lock_check() holds debug builds to it:
 *
 *     phase     steps                                             leaving  settled  own znode
 *     JOINING   MAKE_PARENTS, JOIN, FIND, LIST, BACK_OFF,         no       no       perhaps
 *               PROVE, ADOPT, ASK_WRITE
 *     WAITING   none: a watch is set                              no       perhaps  yes (1)
 *               WATCH, COUNT, VERIFY, LIST, BACK_OFF, JOIN (2)
 *               CENSUS, PROVE, ADOPT, ASK_WRITE, SQUARE, SQUARE_ABOVE
 *     SETTLING  none: the lease of those who vanished runs        no       no       yes
 *               LIST, BACK_OFF,                                   no       yes      yes
 *               PROVE, ADOPT, ASK_WRITE, SQUARE, SQUARE_ABOVE
 *     HELD      none                                              no       perhaps  yes
 *     LEAVING   any: one of another phase is waited for           yes      perhaps  perhaps (3)
 *     LEFT      none                                              yes      perhaps  no
 *     LOST      none                                              perhaps  perhaps  yes
 *     OUT       none                                              perhaps  perhaps  no
 *
 *     (1) with --unfair there is none: the place is given back before the wait
 *     (2) lost: with --unfair, after a turn to another server
 *     (3) READ_VERSION, CLAIM, LEAVE and REMOVE have one
 */
#ifndef ZKFLOCK_LOCK_STATE_H
#define ZKFLOCK_LOCK_STATE_H

#include <stdbool.h>

#include "lock/contender.h"
#include "lock/lock.h"
#include "lock/recipe.h"
#include "lock/record.h"

/* Which of them belong to leaving is said in lock.c. */
enum step {
    STEP_NONE,
    STEP_MAKE_PARENTS,
    STEP_ASK_ACL,
    STEP_JOIN,
    STEP_FIND,
    STEP_LIST,
    STEP_WATCH,
    STEP_BACK_OFF,
    STEP_COUNT,
    STEP_VERIFY,
    STEP_CENSUS,
    STEP_PROVE,
    STEP_SQUARE,
    STEP_SQUARE_ABOVE,
    STEP_ADOPT,
    STEP_ASK_WRITE,
    STEP_READ_VERSION,
    STEP_LEAVE,
    STEP_REMOVE,
    STEP_SWEEP,
    STEP_CLAIM,
    STEP_END,
};

/* What a request was for; its answer carries it. */
enum tag {
    /* requests of steps */
    TAG_ANCESTOR,
    TAG_ACL,
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
    /* requests beside the steps; take_reply() names each */
    TAG_PROOF,
    TAG_PROOF_OWN,
    TAG_OWN_WATCH,
    TAG_SETTLING,
    TAG_ANNOUNCE,
    TAG_EARLY,
    TAG_MARK,
    TAG_LIMIT, /* how many tags there are */
};

/* In place of an answer: the step has not asked.  The client library's codes are 0 or negative. */
enum { LOCK_NOT_ASKED = 1 };

enum {
    LOCK_GUID_BYTES = (LOCK_GUID_SIZE - 1) / 2,
    LOCK_SQUARE_MAX = 500,     /* sets in one transaction; 4,000 take 36 ms */
    LOCK_LEAVE_CAUTIOUSLY = 5, /* tries with the version that was read, before any will do */
    LOCK_REMAKE_MAX = 10,      /* times that a lock may be removed under our hands */
};

/* What the data of the lock's znode is. */
enum record_state {
    RECORD_UNKNOWN,  /* not read yet */
    RECORD_OURS,     /* a record: lock->record holds */
    RECORD_NONE,     /* empty: somebody else made the znode, which may be adopted */
    RECORD_NEEDLESS, /* empty, and a turn needs no record: nothing is counted there */
    RECORD_FOREIGN,  /* something else: the znode is no lock */
};

/* What is known of the right and the use of counting departures in the lock's znode. */
enum counting {
    COUNTING_UNTRIED,   /* as far as is known; becomes any of the others */
    COUNTING_PERMITTED, /* a write was carried out, or would have been */
    COUNTING_FORBIDDEN, /* the znode's ACL forbids writes: goes on without */
    COUNTING_WRONG,     /* the count cannot be right: waits, then writes the record anew, which
                           makes this PERMITTED or FORBIDDEN */
};

/*
 * What is known of the znode above a semaphore's two znodes, where a lock may have stood, or of the
 * one above a lock that is called like one of the two.
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

/*
 * The ACL that the own znode gets.  A client with credentials asks for the ACL of the lock's znode
 * before it creates the own one.
 */
struct own_acl {
    enum {
        ACL_UNKNOWN, /* a client with credentials has to ask for it */
        ACL_ASKED,   /* known, but the lock may have been created anew since */
        ACL_FITS,    /* the own znode is in the lock that the ACL is from */
        ACL_OTHER,   /* it is in another one: ask again, and create the own znode anew */
    } state;
    struct ACL_vector *list; /* NULL: the session's */
    int64_t czxid;           /* of the lock's znode then; 0: there was none */
    int32_t aversion;
};

/* A told_base that no record has. */
#define LOCK_UNTOLD INT64_C(-1)

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
    bool vacated;  /* once LOCK_LEFT: the ensemble said that the znode is deleted */
    bool awaited;  /* once vacated: see lock_is_awaited() */
    /* How many the lock's znode had at the last write to it: by LEAVE the own one is among them. */
    int32_t children_at_multi;
    struct lock_terms terms;

    /* the flight */
    unsigned int pending;
    bool unknown;       /* an answer of it was lost */
    bool other_session; /* it was asked of a session that is no more */
    bool retry;         /* the step is to be taken again once there is contact */
    int rc[TAG_LIMIT];  /* the last answer for each tag; or LOCK_NOT_ASKED */
    int failed_op;      /* of the last answer: which part of a multi its rc is of */
    /* a create of MAKE_PARENTS failed otherwise than because of a znode that is there, or is not */
    bool ancestor_failed;
    int ancestor_rc;             /* of the last one that did */
    unsigned int ancestor_depth; /* how many levels above the lock's znode that one is */
    int64_t sent;                /* when its first request was */
    int64_t received;            /* when its last answer came */

    /* the lock's znode */
    struct record record;   /* its lease is that of the lock in any state but UNKNOWN */
    struct record adopting; /* by the step under way */
    enum record_state record_state;
    enum counting counting;
    struct recipe_census census;
    int64_t mzxid; /* of the lock's znode */
    int64_t parent_czxid;
    int32_t parent_aversion;
    int64_t pzxid; /* the last change to the children */
    unsigned int remade;
    bool told_of_strangers;
    bool is_around; /* what a zkflock around this one holds stands in this queue */
    bool is_kazoo_semaphore;
    bool is_semaphore;    /* has the znodes of one below it */
    size_t listed;        /* contenders in the last list */
    int64_t listed_pzxid; /* the last change to the children that the list shows; 0: no list */
    bool made;            /* by this contender */
    int64_t made_czxid;   /* the lock's znode then */
    struct own_acl acl;
    bool undo; /* on leaving it goes too: it should not have been made */
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
    int32_t predecessor_version; /* of its znode, as last read */

    /* early.c */
    int64_t early_sent;   /* when the last early proof was sent; 0: there is none that counts */
    int64_t early_due;    /* when the next one is due; CLOCK_NEVER: one is under way */
    int32_t told_version; /* predecessor_version, read before the own znode was written to */
    int64_t told_base; /* of the record, read before the own znode was written to; or LOCK_UNTOLD */

    /* settling */
    int64_t settled_at;            /* when the wait ends */
    bool settled;                  /* it has ended */
    struct recipe_census settling; /* as it was when the wait began */
    /*
     * For a permit: those vanished when the wait began, less those counted out since.  A
     * transaction whose answer was lost counts as carried out: the number may be too small, never
     * too large.
     */
    uint32_t waited_for;
    uint32_t squaring; /* by the step under way */

    int64_t proof_sent; /* when the last write that names the own znode was sent */
    bool unmarked;      /* while it is held: the own znode is not marked as held yet */
    int64_t mark_at;    /* when to mark it; CLOCK_NEVER: it was tried, or there is no need */
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

/* The tag of a request in the session. */
static inline int lock_tag(const struct lock *lock, enum tag tag)
{
    return lock->tag_base + (int)tag;
}

/* Returns true if the own znode is known by its name. */
static inline bool lock_knows_own(const struct lock *lock)
{
    return naming_has_guid(&lock->terms.naming, lock->terms.kind);
}

/* Returns true if it stands in the queue and nothing is under way: it waits for a watch to fire. */
static inline bool lock_is_idle(const struct lock *lock)
{
    return lock->phase == LOCK_WAITING && lock->step == STEP_NONE;
}

/*
 * Returns true if a departure is counted: in the record, or where there is none yet in the version
 * alone, for whoever looks at the znode then.
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

/* Takes a new identity, for a new session or a new place. */
void lock_renew_guid(struct lock *lock);

/* Forgets the own znode and its place in the queue. */
void lock_forget_place(struct lock *lock);

/* Ends in LOCK_OUT: nothing that was is of use any more. */
void lock_start_over(struct lock *lock);

/*
 * Takes in what an answer tells of the own znode; its data, if the answer has it, may ask for the
 * lock to be given up.  If the znode of that name is another session's, notes only that:
 * lock_owns().
 */
void lock_note_own(struct lock *lock, const struct session_event *event);

/* Returns true if the znode of the own name was this session's when it was last read. */
bool lock_owns(const struct lock *lock);

/* Returns true if the last answer about the own znode told that it is gone, or another session's.
 */
bool lock_own_is_gone(const struct lock *lock);

/* Holds the lock from now on, by the last proof. */
void lock_enter_held(struct lock *lock);

/* Warns that the ACL of the lock's znode forbids counting in it, and goes on without. */
void lock_count_no_more(struct lock *lock);

/* Returns whether there is no queue for it. */
bool lock_is_unfair(const struct lock *lock);

/*
 * Returns the lease of a lock whose znode has no record, ms.  A contender that may not write there
 * holds by the default lease, so no other may take a shorter one, nor it a longer one.
 */
int64_t lock_lease_without_record(const struct lock *lock);

/* Between two calls: ends the process unless the table above holds. */
#ifdef ZKFLOCK_DEBUG
void lock_check(const struct lock *lock);
#else
static inline void lock_check(const struct lock *lock)
{
    (void)lock;
}
#endif

#endif
