/*
 * What the kinds of locks add to lock.pml, which includes this file, by one of these switches.
 * Without any of them all are exclusive.
 *
 * READERS     shared locks: who joins is a reader or a writer.  A reader waits for writers before
 *             it only.  It starts after its wait too, whatever else has vanished meanwhile, but
 *             squares only if nobody has left since: nobody ever runs beside a writer.
 * PERMITS=n   a semaphore: n commands may run.  The lock under which permits are taken is a turn
 *             that somebody has, from before the join until its command starts or it is gone.  Who
 *             waited squares as many as it has waited for, be they others by now, and waits again
 *             for those who are left, unless there are permits for all of them.
 * UNFAIR      --unfair: who joins is a fair or an unfair one.  An unfair one's znode has always the
 *             same name, so there is one at a time, and it stands before all others.  It may
 *             hold only if the list made behind its create shows nobody else; else it deletes the
 *             znode and waits.  What names that znode may hit another's of the same name, so that
 *             it proves once more behind a square, reads the version and then makes sure of its
 *             znode before it deletes that, and repeats neither blindly.
 *
 * Each of these breaks one rule:
 *   READER_SQUARES_ALL      a reader squares whatever it finds after its wait, as a writer does
 *   READER_MARK             a waiter takes a reader that holds for one that nobody stands before;
 *                           needs N = 3
 *   UNFAIR_NO_LIST          an unfair one holds on its create
 *   UNFAIR_SQUARES_BY_NAME  it holds on its square, whose check may be of another's znode
 *   UNFAIR_LEAVES_BY_NAME   it deletes whatever has its name, and again if the answer was lost
 *   UNFAIR_CLAIMS_FIRST     it makes sure of its znode before it reads the version, not after that
 *   UNFAIR_LISTS_OWN_FIRST  the same, before it backs off; with UNFAIR_ANY_VERSION: after several
 *                           tries it backs off whatever the version
 *   PERMITS_FORGET_VANISHED permits are counted by the znodes that are there
 *   PERMITS_SQUARE_ALL      all that are found after the wait are squared
 *   PERMITS_SQUARE_ANEW     a square of unknown outcome is taken for one that was not done
 *   PERMITS_NO_TURN         permits are taken at the same time
 */

#ifdef READERS
bool reader[N];

#define CHOOSE_KIND if :: reader[me] = true :: true fi
#define FORGET_KIND reader[me] = false
#define IS_BESIDE(node) (reader[me] && reader[node])
#define WRITES(c) (RUNS(c) && !reader[c])
#define CHECK_TOGETHER assert(OF_ALL(RUNS, +) <= 1 || OF_ALL(WRITES, +) == 0 || !IS_CAREFUL)
#ifdef READER_SQUARES_ALL
#define MAY_SQUARE true
#else
#define MAY_SQUARE (!reader[me] || !changed)
#endif
#ifndef READER_MARK
#define MARK_IS_EXCLUSIVE(node) (!reader[node])
#endif
#endif

#ifdef PERMITS
byte turn = N; /* nobody's */

#define CHECK_TOGETHER assert(OF_ALL(RUNS, +) <= PERMITS || !IS_CAREFUL)
#define IS_ONLY_CHILD true
#define PREDECESSOR_GONE (CHILDREN <= PERMITS || place[me] == 0)
#define read_list() skip
#ifndef PERMITS_NO_TURN
/* It ends with the session, which who has it may not know yet. */
#define MAY_JOIN (turn == N -> true : !session[turn])
#define BEGIN_TURN turn = me
#endif
#define END_TURN \
    turn = (turn == me -> N : turn); \
    settling = 0; \
    squared = 0; \
    squaring = 0
#define SEEN_BY_KIND byte seen_children, settling, squared, squaring
#define READ_BY_KIND seen_children = CHILDREN; ahead = (seen_children > PERMITS -> 1 : 0)
#define FORGET_SEEN_BY_KIND seen_children = 0; settling = 0; squared = 0; squaring = 0
#define STARTS_BESIDE_VANISHED (SEEN_VANISHED > 0)

#ifdef PERMITS_FORGET_VANISHED
#define ENOUGH_PERMITS true
#else
#define ENOUGH_PERMITS (seen_children + SEEN_VANISHED <= PERMITS)
#endif
#ifdef PERMITS_SQUARE_ALL
#define DUE (settled -> SEEN_VANISHED : 0)
#else
/* Those of the vanished that were waited for, as many as are left of them. */
#ifdef LEASES
#define SETTLING ((settled_departed - settled_version - base) & 255)
#define WAITED_FOR (settled && !SETTLED_UNRECORDED -> SETTLING - squared : 0)
#else
#define SETTLING settling
#define WAITED_FOR (settled -> SETTLING - squared : 0)
#endif
#define DUE (WAITED_FOR < SEEN_VANISHED -> WAITED_FOR : SEEN_VANISHED)
#endif
#ifdef PERMITS_SQUARE_ANEW
#define NOTE_SQUARED(count)
#else
#define NOTE_SQUARED(count) squared = squared + count
#endif
#define CONSIDER \
    if \
    :: seen_record && !IS_BARRED && (SEEN_VANISHED == 0 || (ENOUGH_PERMITS && DUE == 0)) -> HOLD \
    :: else -> \
        if \
        :: MAY_WRITE && settled && !seen_record && MAY_ADOPT -> proof[me] = L; goto adopt \
        :: MAY_RISK && !seen_record -> proof[me] = L; goto adopt \
        :: settled && (IS_BARRED || (!seen_record && !MAY_ADOPT)) -> HOLD \
        :: !IS_CAREFUL && !(MAY_RISK && !seen_record) -> HOLD \
        :: MAY_WRITE && seen_record && DUE > 0 -> \
            squaring = DUE; \
            NOTE_SQUARED(squaring); \
            proof[me] = L; \
            goto square \
        :: IS_CAREFUL && (settled -> MAY_WRITE && seen_record && DUE == 0 : true) -> \
            REACHED(20, settled); \
            settled = false; \
            NOTE_SETTLING; \
            squared = 0; \
            BEGIN_SETTLING; \
            SETTLE; \
            goto settle \
        fi \
    fi
#ifdef LEASES
#define NOTE_SETTLING skip
#else
#define NOTE_SETTLING settling = SEEN_VANISHED
#endif
#define SQUARING squaring
#define SQUARE_REFUSED NOTE_SQUARED(-squaring)
#endif

#ifdef UNFAIR
bool unfair[N];
byte watched[N]; /* on the znode of the other: 1; 2: it has gone */

#define CHOOSE_KIND if :: unfair[me] = true :: true fi
#define FORGET_KIND unfair[me] = false
#define IS_FAIR (!unfair[me])
#define HAS_NAME(c) (unfair[c] && place[c] > 0)
#define NAME_TAKEN (unfair[me] && OF_ALL(HAS_NAME, ||))
#define TAKE_PLACE \
    if \
    :: unfair[me] -> place[me] = 1; place[1 - me] = (place[1 - me] > 0 -> 2 : 0) \
    :: else -> place[me] = 1 + CHILDREN \
    fi
#define FIRE(node) watched[1 - (node)] = (watched[1 - (node)] == 1 -> 2 : watched[1 - (node)])
#define PREDECESSOR_GONE (watched[me] == 2)
#define STOP_WATCHING watched[me] = 0
#define SEEN_BY_KIND
#define READ_BY_KIND skip
#define FORGET_SEEN_BY_KIND watched[me] = 0
#define read_list() \
    ahead = (unfair[me] || place[me] > 1 -> CHILDREN - 1 : 0); \
    watched[me] = (ahead > 0 -> 1 : 0)
#ifdef UNFAIR_NO_LIST
#define IS_ONLY_CHILD (CHILDREN == 1 || unfair[me])
#endif

/* Requests name the znode, and the name may be another's by now. */
#define HAS_OWN_NAME (place[me] > 0 || NAME_TAKEN)
#define remove_name() \
    if \
    :: unfair[me] && place[me] == 0 -> remove(1 - me) \
    :: else -> remove(me) \
    fi
/* The answer is lost. */
#define ONCE_MORE(again) \
    if \
    :: unfair[me] && !calm -> goto again \
    :: true \
    fi
#ifdef UNFAIR_LEAVES_BY_NAME
#define LEAVES HAS_OWN_NAME
#else
#define LEAVES (place[me] > 0 && !unfair[me])
#endif
#ifdef UNFAIR_LISTS_OWN_FIRST
#define LISTS_OWN_LAST false
#else
#define LISTS_OWN_LAST unfair[me]
#endif
#endif

#ifdef READERS
/* Whether somebody left since the wait for the vanished began. */
#define NOTE_CHANGE \
    changed = changed || (settled && (version != seen_version || departed != seen_departed))
#define STARTS_BESIDE_VANISHED (settled && changed && SEEN_VANISHED > 0)
#define SEEN_BY_KIND bool changed
#define READ_BY_KIND NOTE_CHANGE
#define FORGET_SEEN_BY_KIND changed = false
#endif

/* Exclusive. */
#ifndef SEEN_BY_KIND
#define SEEN_BY_KIND
#define READ_BY_KIND skip
#define FORGET_SEEN_BY_KIND skip
#endif
#ifndef IS_ONLY_CHILD
#define IS_ONLY_CHILD CHILDREN == 1
#endif
#ifndef CHOOSE_KIND
#define CHOOSE_KIND skip
#define FORGET_KIND skip
#endif
#ifndef IS_BESIDE
#define IS_BESIDE(node) false
#endif
#ifndef CHECK_TOGETHER
#define CHECK_TOGETHER assert(OF_ALL(RUNS, +) <= 1 || !IS_CAREFUL)
#endif
#ifndef MAY_SQUARE
#define MAY_SQUARE true
#endif
#ifndef MARK_IS_EXCLUSIVE
#define MARK_IS_EXCLUSIVE(node) true
#endif
#ifndef STARTS_BESIDE_VANISHED
#define STARTS_BESIDE_VANISHED false
#endif
#ifndef SQUARING
#define SQUARING SEEN_VANISHED
#define SQUARE_REFUSED skip
#endif
#ifndef MAY_JOIN
#define MAY_JOIN true
#define BEGIN_TURN skip
#endif
#ifndef END_TURN
#define END_TURN skip
#endif
#ifndef UNFAIR
#define IS_FAIR true
#define TAKE_PLACE place[me] = 1 + CHILDREN
#define NAME_TAKEN false
#define FIRE(node) skip
#define STOP_WATCHING skip
#define HAS_OWN_NAME (place[me] > 0)
#define LEAVES (place[me] > 0)
#define remove_name() remove(me)
#define ONCE_MORE(again) skip
#endif
