/*
 * The pure decisions of the lock recipe: who is first, whom to watch, who left without a word.
 * No input or output, no memory of its own; unit-tested.
 *
 * Contenders are the children of the lock's znode whose names end in a ten-digit sequence number,
 * whatever comes before it: Curator's, kazoo's and home-made ones stand in the same queue.
 */
#ifndef ZKFLOCK_RECIPE_H
#define ZKFLOCK_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ZooKeeper counts sequences in a signed int and sticks at its end (ZOOKEEPER-4706). */
#define RECIPE_SEQUENCE_LIMIT (INT32_MAX - 1000)

/* Reads the sequence number that ends a name or path; returns whether there is one. */
bool recipe_sequence(const char *name, int32_t *sequence);

/*
 * Returns true if the lock has no numbers left for those that come after this own znode.  Beyond
 * the limit its name may not even parse (ZOOKEEPER-4706).
 */
bool recipe_exhausted(const char *name);

/*
 * Returns true if a contender of that name shares the lock with others of its kind: a reader of
 * Curator's or kazoo's.  All others are exclusive.
 */
bool recipe_is_shared(const char *name);

/* Returns true if names with this prefix are readers' or the one of --unfair. */
bool recipe_is_reserved(const char *prefix);

/*
 * The one contender at a time that --unfair lets into a lock: not sequential, so that who comes
 * first has it.  It looks like the first of all to zkflock, and to Curator's and kazoo's locks.
 * It may hold the lock only if it finds nobody else there, which keeps the two kinds apart: of two
 * that come at the same time both see the other, the unfair one goes away and the fair one waits
 * until it has gone.  A fair one that waits behind a holder goes past the unfair one, which then
 * has the smaller token: so it may not hold either if anybody came or left since its create.
 */
#define RECIPE_UNFAIR_NAME "unfair__lock__-lock-0000000000"

/* Where a contender stands. The strings belong to the list that was asked about. */
struct recipe_place {
    bool found;              /* the own name is in the list; the rest holds only then */
    size_t ahead;            /* contenders before the own one and not beside it */
    const char *predecessor; /* the last of these, the one to wait for; NULL: there is none */
    bool predecessor_first;  /* nobody stands before that one */
};

/*
 * Finds the place of own among the children of a lock.  An exclusive contender waits for everybody
 * before it, a shared one for the exclusive ones, so that nobody is overtaken and nobody starves.
 * The unfair one waits for all others.
 */
struct recipe_place recipe_place(char *const *children, size_t count, const char *own);

/* The first of the contenders among the children, which may be the own one; NULL: there is none. */
const char *recipe_first(char *const *children, size_t count);

/* How many of the children are contenders. */
size_t recipe_contenders(char *const *children, size_t count);

/* Returns true if the last part of this path is among the children, if it is a name with a GUID. */
bool recipe_lists(char *const *children, size_t count, const char *path);

/* Where a semaphore keeps its permits and the lock under which they are taken. */
#define RECIPE_SEMAPHORE_LEASES "leases"
#define RECIPE_SEMAPHORE_LOCKS "locks"

/* Returns true if these are the children of a semaphore. */
bool recipe_is_semaphore(char *const *children, size_t count);

/* Returns true if a znode of that name below another one may be a part of a semaphore. */
bool recipe_is_semaphore_part(const char *name);

/*
 * Returns true if a kazoo Semaphore may have made a znode of that name: a GUID and no more.  It may
 * be a lock as well, which is never ephemeral.
 */
bool recipe_may_be_kazoo_permit(const char *name);

/* Returns true if a Stat's ephemeralOwner is that of an ephemeral znode. */
bool recipe_is_ephemeral(int64_t owner);

/* What the Stat of a lock's znode says of its children. */
struct recipe_census {
    int32_t version;
    int32_t cversion;
    int32_t children;
};

/*
 * How many children ever left, whether counted out or not.
 *
 * ZooKeeper counts cversion = 2 * created - children as clients see it, so departed = created -
 * children.  All arithmetic here is modulo 2^32.
 */
uint32_t recipe_departed(struct recipe_census census);

/*
 * How many contenders left without saying so, ever, less those already squared: every clean
 * departure adds one to version in its own transaction.  A result of 2^31 and more means that the
 * count cannot be right.
 */
uint32_t recipe_vanished(struct recipe_census census, uint32_t base);

/*
 * The base of a record that is set on top of this census: of the children that ever left the first
 * `settled` are done with, and those that left after them count as vanished.
 */
uint32_t recipe_base_for_adoption(struct recipe_census census, uint32_t settled);

/* Returns true if a count can be right at all. */
bool recipe_plausible(uint32_t vanished);

/* How a contender shares a lock with others. */
enum recipe_kind {
    RECIPE_EXCLUSIVE, /* the unfair one too */
    RECIPE_READER,
    RECIPE_PERMIT,
};

/* What the data of the lock's znode is good for. */
enum recipe_record {
    RECIPE_COUNTED,   /* a record; departures are counted in it */
    RECIPE_UNCOUNTED, /* a record without the right to write it */
    RECIPE_WRONG,     /* a record whose count cannot be right, to be written anew */
    RECIPE_NEEDLESS,  /* no data, and a turn needs no record */
    RECIPE_NO_RECORD, /* no data; it is not known whether the contender may write a record */
    RECIPE_WRITABLE,  /* no data; the contender may write a record */
    RECIPE_FORBIDDEN, /* no data, and no right to write any */
};

/* What a contender knows when it is first in the queue and proven, and has read the census. */
struct recipe_facts {
    enum recipe_kind kind;
    enum recipe_record record;
    uint32_t base;                 /* the record's */
    bool longer_lease;             /* it asks for a longer one than those without a record have */
    bool careful;                  /* false: takes the risk of --lock-delay 0 */
    bool settled;                  /* it has waited for the leases of those who vanished */
    struct recipe_census census;   /* as last read */
    struct recipe_census settling; /* as it was when the wait began */
    uint32_t waited_for;           /* of those vanished then, how many are not squared yet */
    uint32_t vanished_above;       /* from a lock that stood where the semaphore stands */
    size_t taken;                  /* permits in use, the own one among them */
    size_t permits;                /* that there are; 0 if it is no semaphore */
};

enum recipe_verdict {
    RECIPE_HOLD,         /* the command may start */
    RECIPE_SETTLE,       /* wait for the leases of those who vanished, from now on */
    RECIPE_ASK_WRITE,    /* find out whether the contender may write a record, then decide again */
    RECIPE_SQUARE,       /* count out `count` of those that were waited for */
    RECIPE_SQUARE_ABOVE, /* the same in the semaphore's own znode */
    RECIPE_ADOPT,        /* write a record with the base `count` */
    RECIPE_HOLD_BLIND,   /* hold without a record: all have the default lease */
    RECIPE_REFUSE_LEASE, /* leave: the others cannot know of the longer lease that is asked for */
    RECIPE_DISTRUST,     /* the count cannot be right: WRONG from now on, then decide again */
};

struct recipe_decision {
    enum recipe_verdict verdict;
    uint32_t count;
};

/*
 * Decides whether the command of a contender that is first may start, and if not, what comes first.
 *
 *   record     vanished, since      careful    settled     verdict
 *   any        from a lock above    yes        no          SETTLE, or ASK_WRITE as below
 *                                   yes        yes         SQUARE_ABOVE
 *   COUNTED    none                 any        any         HOLD
 *              cannot be right      any        any         DISTRUST
 *              some                 no         any         HOLD
 *              some                 yes        no          SETTLE
 *              some, exclusive      yes        yes         SQUARE all: nobody behind it ever held
 *              some, reader         yes        yes         SQUARE all if nothing has changed since,
 *                                                          else HOLD: readers beside it count too
 *   NEEDLESS   not counted          any        any         HOLD
 *   UNCOUNTED  not known            yes        no          SETTLE
 *                                   else                   HOLD
 *   WRONG      not known            yes        no          SETTLE
 *                                   else                   ADOPT
 *   NO_RECORD  not known            yes        no          SETTLE; for a longer lease ASK_WRITE,
 *                                                          rather than refuse it after the wait
 *                                   else                   ADOPT
 *   WRITABLE   not known            yes        no          SETTLE
 *                                   else                   ADOPT
 *   FORBIDDEN  not known            yes        no          SETTLE
 *                                   else                   HOLD_BLIND; a longer lease REFUSE_LEASE
 *
 * Where nobody has ever left, nobody has vanished, and "else" holds in all rows but that of WRONG.
 *
 * A permit holder starts beside those who vanished if there are permits for them as well.  It
 * squares those that it has waited for and no others, and waits again while the rest is too many.
 */
struct recipe_decision recipe_decide(const struct recipe_facts *facts);

#endif
