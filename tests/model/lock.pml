/*
 * The lock protocol of src/lock/lock.c as a Spin model; tests/model/check runs it.
 *
 * What is shown, for N contenders that make JOINS znodes in all:
 *   - exclusive access: no two commands run at the same time;
 *   - a counted departure hides no vanished holder: while a command runs whose znode is gone, the
 *     count of the vanished is not zero, so that whoever comes next waits;
 *   - with CALM: once faults stop there is no deadlock and no endless loop, but everybody in the
 *     queue is served and leaves.
 *
 * What may go wrong, at any time and any number of times: a request or its answer is late or lost,
 * a session expires, a znode is deleted by somebody (--break), a process stops and goes on (it
 * makes no step for a while), vanishes and leaves its command running, or is killed and its guard
 * cleans up.  A session may expire at any moment, not only after its timeout: the protocol's
 * safety needs no more, and sooner is worse.
 *
 * Time is counted in ticks, L of them to a lease, and only as spans that run down to 0.  A command
 * is dead by the tick that takes its span to 0, which is s* + L; the allowances for killing, for
 * being scheduled late and for clocks of different rates end there.
 *
 * The ensemble is one state, each transaction one step.  A read is made at one moment and arrives
 * at any later one.  That covers followers that lag behind as well, since no session sees an older
 * state than it has seen or written before; where a reconnect breaks that, the protocol sends a
 * sync first (FIND), or a write whose commit the read is behind (PROVE, the guard's barrier).
 * Requests that were under way when contact was lost are carried out before the next ones or never.
 *
 * The kinds of locks that add a rule are in kinds.pml, locks without a record, contenders without
 * WRITE or with --lock-delay 0 in leases.pml, a server that shows what is gone in ghost.pml, proofs
 * that are sent ahead of time in early.pml, ACLs in acls.pml.  Models of their own: several locks,
 * set.pml; a lock and a semaphore on one path, mixed.pml.
 *
 * Left out: the bytes of names and records, contenders of other clients, more vanished than one
 * transaction can square.
 *
 * Each of these breaks one rule and lets the verifier find the run that the rule is there for:
 *   PROOF_BY_PING      an answered ping extends the lease; cut-off followers answer them
 *   NO_LOCK_DELAY      nobody waits for the leases of the vanished
 *   CLOCKS_APART       the successor's clock is fast by more than the allowance
 *   STALE_COUNT        the census is read before the wait for others, not behind the proof
 *   WAIT_FROM_SEND     the wait runs from the sending of the read, not from its receipt
 *   GET_BEFORE_LIST    the parent is read before the list instead of after it
 *   NO_CHECK_OWN       squares and adopts without check(own)
 *   SQUARE_TWICE       repeats a square of unknown outcome, and does so without check(version)
 *   LATE_START         the guard does not look at the deadline again before it starts the command
 *   COUNT_BEFORE_KILL  the guard gives the lock back before the command is dead
 *   ONLY_CHILD         an only child is taken for the own znode; somebody may have deleted that
 *   NO_SYNC            a create of unknown outcome is looked for on a follower that lags behind
 *   REMOVE_UNSETTLED   (REMOVES) a lock is removed before the vanished were waited for
 *   NO_NEW_LISTING     no new list even if more than the predecessor were ahead; needs N = 3
 *   REJOINS_SETTLED    (REJOINS) what was waited for in one place counts in the next
 *
 * REMOVES: who holds the lock may remove it instead of running a command.
 * REVOKES: anybody may write to a contender's znode, so that its proof fails and it lists first.
 * REJOINS: one whose znode was deleted joins again in the same session; else it ends.
 * FEW_FAULTS leaves out requests and answers that are lost, and --break, to get by with three;
 * NO_FAULTS leaves out processes that die and sessions that expire too, but with HOLDERS_EXPIRE
 * not those of who runs a command.  BREAKS: there is --break all the same, SQUARES_LOST: squares
 * are lost, or their answers.  GONE=n have vanished before.
 * REACH=n makes a violation of something that does happen, see REACHED: a model in which too little
 * happens proves nothing.
 */
#ifndef N
#define N 2
#endif
#ifndef JOINS
#define JOINS 3
#endif
#if !defined(L) && !defined(LEASES)
#define L 2
#endif
#ifndef GONE
#define GONE 0
#endif
#ifndef REACH
#define REACH 0
#endif

/* Places in the queue: 1 is first, 0 is none.  From N on: those that a second create left behind. */
#ifdef NO_SYNC
#define NODES (2 * N)
#else
#define NODES N
#endif
byte place[NODES];

/* The parent's Stat and record.  All arithmetic wraps, as the real counters do at 2^32. */
byte version, departed;
byte base;
bool record; /* in the parent; without it the lock has to be adopted */

bool session[N]; /* as the ensemble has it */

/* Ticks that are left. */
byte lease[N]; /* until the command is dead; 0: none runs */
byte proof[N]; /* of the lease that the last proof sent would give, were it answered now */
byte delay[N]; /* for the leases of the vanished */

bool out[N];  /* not started, or ended */
bool held[N]; /* the mark in the own znode that PROVE leaves; of use only to the third in line */
bool lone[N]; /* vanished: nobody speaks for its session any more */
byte joins = JOINS;
bool calm; /* faults have stopped */

/* Scratch, of no step but the current one. */
hidden byte gap;

#if N == 2
#define OF_ALL(f, op) (f(0) op f(1))
#define EACH(f) f(0); f(1)
#else
#define OF_ALL(f, op) (f(0) op f(1) op f(2))
#define EACH(f) f(0); f(1); f(2)
#endif
#if NODES > N
#define OF_NODES(f, op) (OF_ALL(f, op) op f(N) op f(N + 1))
#define EACH_NODE(f) EACH(f); f(N); f(N + 1)
#else
#define OF_NODES OF_ALL
#define EACH_NODE EACH
#endif

#define IS_THERE(node) (place[node] > 0)
#define CHILDREN OF_NODES(IS_THERE, +)
#define VANISHED ((departed - version - base) & 255)
#define SEEN_VANISHED ((seen_departed - seen_version - base) & 255)

/* A command that runs, and whether its znode is gone. */
#define RUNS(c) (lease[c] > 0)
#define HIDDEN(c) (RUNS(c) && place[c] == 0)

#include "leases.pml"

#ifdef ONLY_EXCLUSIVE
#undef CHECK_HIDES_NOTHING
#define CHECK_HIDES_NOTHING skip
#elif !defined(LEASES)
/* The count is never negative either. */
#define CHECK_HIDES_NOTHING \
    assert(!record || VANISHED < 128); \
    assert(!OF_ALL(HIDDEN, ||) || (record && OF_ALL(HIDDEN, +) <= VANISHED))
#endif

#include "kinds.pml"
#include "ghost.pml"
#include "early.pml"
#include "acls.pml"

/*
 * Happens: 1 two have vanished, 2 a command starts, 3 behind the last join, 4 after a wait for a
 * lease, 5 two are squared, 6 one vanishes while others are squared, 7 a lease is extended,
 * 8 a session expires while its command runs, 9 and others wait, 10 a waiter gives up, 11 a
 * command starts late, 12 the guard ends it at the deadline, 13 the guard gives the lock back,
 * 14 a hidden command runs while the next one waits for its end, 15 (ADOPT) one vanishes while
 * the lock is adopted, 16 (READERS, PERMITS) a command starts although one vanished that was not
 * waited for, 17 (UNFAIR) an unfair one starts, 18 one backs off, 19 (REMOVES) a lock is removed that
 * may be made again, 20 (PERMITS) one waits a second time, 21 a part of the vanished is squared,
 * 22 (REVOKES) a proof finds that the own znode was written to, 23 (REJOINS) one joins again that
 * had waited for the vanished, 24 (GHOST) a server is left, 29 for a count below zero, 30 come to.
 * LEASES: 25 a command starts without a
 * record, 26 one adopts and counts some as vanished that it has not waited for, 27 the same with
 * --lock-delay 0, 28 one is refused for a longer lease than the default.
 * EARLY: 31 a command starts by an early proof, 32 although its znode has gone meanwhile.
 * ACLS: 33 one joins again since the lock has another ACL, 34 only behind a list.
 */
#define REACHED(n, what) assert(!(REACH == (n) && (what)))

/* REVOKES: somebody has written to the own znode since its version was read. */
#ifdef REVOKES
bool touched[N];
#define IS_TOUCHED touched[me]
#define READ_OWN touched[me] = false
#define TOUCH(c) :: atomic { !calm && place[c] > 0 && !touched[c] -> touched[c] = true }
#else
#define IS_TOUCHED false
#define READ_OWN skip
#define TOUCH(c)
#endif

/* REJOINS: who finds that its znode has been deleted joins again in the same session. */
#ifdef REJOINS
#define DELETED goto rejoin
#else
#define DELETED goto finish
#endif

#define MOVE_UP(node) place[node] = (place[node] > gap -> place[node] - 1 : place[node])

#if N > 2 || defined(GHOST)
#define MARK(node) held[node] = MARK_IS_EXCLUSIVE(node)
#define UNMARK(node) held[node] = false
#else
#define MARK(node) skip
#define UNMARK(node) skip
#endif

inline remove(node)
{
    gap = place[node];
    place[node] = 0;
    EACH_NODE(MOVE_UP);
    departed++;
    UNMARK(node);
    FIRE(node);
    CHECK_HIDES_NOTHING;
    REACHED(1, record && VANISHED == 2)
}

/* Deletes what a session has made. */
inline end_session(c)
{
    session[c] = false;
    if
    :: place[c] > 0 -> remove(c)
    :: else
    fi;
#ifdef NO_SYNC
    if
    :: place[N + c] > 0 -> remove(N + c)
    :: else
    fi
#endif
}

/*
 * The shortcut of an only child: the code takes it only if the parent's pzxid is the own czxid, so
 * that the own create was the last change to the children when the parent was read.  Here it is
 * enough that nobody else is there and the own znode is, which is weaker, and saves the history.
 */
#ifdef ONLY_CHILD
#define OWN_IS_THERE
#else
#define OWN_IS_THERE && place[me] > 0
#endif

/* get(parent): what the decision rests on is read in one consistent Stat. */
inline read_census()
{
    READ_BY_KIND;
    seen_version = version;
    seen_departed = departed - IS_STALE;
    seen_record = record;
    READ_RECORD;
    only_child = IS_ONLY_CHILD && !IS_STALE OWN_IS_THERE
}

#define LOOK_AT(node) \
    ahead = (place[node] > ahead && place[node] < place[me] && !IS_BESIDE(node) -> \
        place[node] : ahead)
#define IS_AHEAD(node) (place[node] == ahead -> node : 0)

/* Ahead is the place of the one to wait for, the last of all that conflict. */
#ifndef read_list
inline read_list()
{
    ahead = 0;
    EACH_NODE(LOOK_AT);
    predecessor = (ahead > 0 -> OF_NODES(IS_AHEAD, +) : 0);
    AND_GHOST
}
#endif

/* Those who joined anew stand behind. */
#ifndef PREDECESSOR_GONE
#define PREDECESSOR_GONE \
    (place[predecessor] == 0 || place[predecessor] > place[me] || place[me] == 0)
#endif

inline forget_place()
{
    seen_version = 0;
    seen_departed = 0;
    seen_record = false;
    only_child = false;
    ahead = 0;
    predecessor = 0;
    waited = false;
    settled = false;
    FORGET_SEEN_BY_KIND;
    FORGET_MARK;
    FORGET_RECORD;
    FORGET_EARLY;
    FORGET_ACL;
    proof[me] = 0;
    delay[me] = 0
}

/* GO carries the deadline, and the guard looks at it at the moment it starts the command. */
inline start_command()
{
    lease[me] = LEFT;
    proof[me] = 0;
    CHECK_TOGETHER;
    CHECK_HIDES_NOTHING;
    CHECK_ACL;
    REACHED(2, true);
    REACHED(3, joins == 0);
    REACHED(4, settled);
    REACHED(16, STARTS_BESIDE_VANISHED);
    REACHED(17, !IS_FAIR);
    REACHED(11, lease[me] < L);
    REACHED(25, !seen_record);
    END_TURN
}

/* The version is known after an own square or adoption too. */
#ifdef REMOVES
#define MAY_REMOVE :: !calm -> proof[me] = 0; goto removing
#define NOTE_OWN_SETS seen_version = seen_version + SEEN_VANISHED
#else
#define MAY_REMOVE
#define NOTE_OWN_SETS skip
#endif
#define ALONE_UNCHANGED (place[me] > 0 && CHILDREN == 1 && version == seen_version)

#ifdef LATE_START
#define HOLD \
    if \
    :: LEFT > 0 -> goto go \
    :: else -> proof[me] = L; goto prove \
    fi
#else
#define HOLD \
    if \
    :: LEFT > 0 -> start_command(); goto running \
    :: LEFT == 0 -> proof[me] = L; goto prove \
    MAY_REMOVE \
    fi
#endif

#define MAY_WRITE (IS_CAREFUL && !IS_BARRED)
#define MAY_RISK (!IS_CAREFUL && !IS_BARRED && RISK_ADOPTS)

/* First, proven, and the census is read: see count_consider() in src/lock/count.c. */
#ifndef CONSIDER
#define CONSIDER \
    if \
    :: seen_record && SEEN_VANISHED == 0 && !IS_BARRED -> HOLD \
    :: else -> \
        if \
        :: MAY_WRITE && settled && MAY_SQUARE && seen_record -> proof[me] = L; goto square \
        :: MAY_WRITE && settled && MAY_ADOPT && !seen_record -> proof[me] = L; goto adopt \
        :: MAY_RISK && !seen_record -> proof[me] = L; goto adopt \
        :: settled && !(MAY_WRITE && (seen_record -> MAY_SQUARE : MAY_ADOPT)) -> HOLD \
        :: !IS_CAREFUL && !(MAY_RISK && !seen_record) -> HOLD \
        :: IS_CAREFUL && !settled -> BEGIN_SETTLING; SETTLE; goto settle \
        fi \
    fi
#endif

#if defined(NO_LOCK_DELAY)
#define SETTLE delay[me] = 0
#elif defined(CLOCKS_APART)
#define SETTLE delay[me] = L - 1
#elif defined(WAIT_FROM_SEND)
#define SETTLE delay[me] = proof[me]
#else
#define SETTLE delay[me] = WAITED_LENGTH
#endif

#ifdef NO_CHECK_OWN
#define OWN_CHECKED true
#else
#define OWN_CHECKED HAS_OWN_NAME
#endif
#ifdef SQUARE_TWICE
#define SQUARE_AGAIN square
#define VERSION_CHECKED true
#else
#define SQUARE_AGAIN prove_again
#define VERSION_CHECKED (version == seen_version)
#endif

/* Faults that may strike at a step. */
#if defined(FEW_FAULTS) || defined(NO_FAULTS)
#define LOST(again)
#else
#define LOST(again) :: atomic { !calm -> goto again }
#endif
#ifdef SQUARES_LOST
#define SQUARE_LOST :: atomic { !calm -> goto SQUARE_AGAIN }
#else
#define SQUARE_LOST LOST(SQUARE_AGAIN)
#endif
#ifdef NO_FAULTS
#define KILLED
#else
#define KILLED :: atomic { !calm -> goto killed }
#endif
#ifdef FORBIDS
#define BAR barred = true
#else
#define BAR skip
#endif
#define COUNTS (seen_record && !IS_FORBIDDEN)
#define EXPIRED :: atomic { !session[me] -> goto finish }

#if N == 2
#define FIRST_OUT(me) (me == 0 || !out[0])
#else
#define FIRST_OUT(me) (me == 0 || (!out[0] && (me == 1 || !out[1])))
#endif

/* A label names the request that is under way there, or what is waited for. */
proctype contender(byte me)
{
    byte seen_version, seen_departed;
    bool seen_record, only_child;
    byte ahead, predecessor;
    bool waited, settled;
    SEEN_OF_RECORD;
    SEEN_BY_KIND;
    SEEN_OF_GHOST;
    SEEN_EARLY;
    SEEN_OF_ACL;

    /* Those who are out are alike: it is enough to let the first of them join. */
end_out:
    atomic {
        joins > 0 && !calm && FIRST_OUT(me) && MAY_JOIN ->
        out[me] = false;
        BEGIN_TURN;
        CHOOSE_KIND;
        CHOOSE_LEASE;
        CHOOSE_SERVER;
        session[me] = true;
        proof[me] = L
    };

#ifdef ACLS
ask_acl:
    if
    :: atomic { session[me] -> seen_acl = acl; proof[me] = L }
    LOST(ask_acl)
    EXPIRED
    KILLED
    fi;
#endif
join:
    if
    :: atomic { session[me] && joins > 0 && !NAME_TAKEN -> joins--; TAKE_PLACE }
#ifdef UNFAIR
    :: atomic {
        session[me] && joins > 0 && NAME_TAKEN ->
        proof[me] = 0;
        watched[me] = 1;
        goto watch
    }
#endif
    :: atomic { session[me] && joins == 0 -> goto finish }
    LOST(find)
    EXPIRED
    KILLED
    fi;
join_get:
    if
    :: atomic { session[me] -> read_census(); COMPARE_ACL }
    LOST(find)
    EXPIRED
    fi;
    if
#ifdef ACLS
    :: atomic { OTHER_ACL -> goto join_anew }
#endif
    :: atomic { only_child && ahead == 0 && !OTHER_ACL -> only_child = false; CONSIDER }
    :: atomic { /* PERMITS: there is none */
        only_child && ahead > 0 && !OTHER_ACL ->
        only_child = false;
        waited = true;
        proof[me] = 0;
        goto watch
    }
    :: atomic { !only_child && !OTHER_ACL -> goto list }
    LOST(find)
    KILLED
    fi;

find:
    if
#ifdef NO_SYNC
    :: atomic {
        session[me] && place[me] > 0 && place[N + me] == 0 ->
        place[N + me] = place[me];
        place[me] = 0;
        proof[me] = L;
        goto join
    }
#endif
    :: atomic { session[me] && place[me] == 0 -> forget_place(); proof[me] = L; goto join }
    :: atomic { session[me] && place[me] > 0 -> waited = true; proof[me] = 0; goto list }
    EXPIRED
    KILLED
    fi;

list:
    if
#ifdef GET_BEFORE_LIST
    :: atomic { session[me] && place[me] > 0 -> read_census() }
#else
    :: atomic { session[me] && place[me] > 0 -> read_list() }
#endif
    :: atomic { session[me] && place[me] == 0 -> DELETED }
    EXPIRED
    fi;
    if
#ifdef GET_BEFORE_LIST
    :: atomic { session[me] && place[me] > 0 -> read_list() }
#else
    :: atomic { session[me] -> read_census(); READ_OWN; COMPARE_AGAIN }
#endif
    LOST(list)
    EXPIRED
    fi;
    if
#ifdef UNFAIR
    :: atomic { place[me] == 0 && LISTS_OWN_LAST -> goto finish }
    :: atomic {
        ahead > 0 && unfair[me] && (place[me] > 0 || !LISTS_OWN_LAST) ->
        proof[me] = 0;
        goto back_off
    }
#endif
#ifdef ACLS
    :: atomic { OTHER_ACL -> REACHED(34, true); goto join_anew }
#endif
    :: atomic {
        ahead > 0 && IS_FAIR && !OTHER_ACL ->
        CHECK_ACL;
        waited = true;
        proof[me] = 0;
        goto watch
    }
    :: atomic { ahead == 0 && waited && !OTHER_ACL -> goto first }
    :: atomic { ahead == 0 && !waited && !OTHER_ACL -> CONSIDER }
    LOST(list)
    KILLED
    fi;

watch:
    if
#if N > 2 && !defined(PERMITS)
    :: atomic { ahead > 1 && !PREDECESSOR_GONE && held[predecessor] -> ahead = 1 }
#endif
    READ_MARK
    MOVE
    FIND_GHOST
    PROVE_EARLY
    CUT_OFF(watch)
    :: atomic {
        (PREDECESSOR_GONE || SAW_GONE) && !WAITS_FOR_GHOST ->
        if
#ifdef UNFAIR
        :: unfair[me] -> forget_place(); proof[me] = L; goto join
#endif
#ifndef NO_NEW_LISTING
        :: MAY_LIST && !GOES_BY_MARK -> FORGET_EARLY; goto list
#endif
        START_EARLY
        :: else -> goto first
        fi
    }
    :: atomic { /* -n, -w, a signal */
        !calm ->
        ahead = 0;
        predecessor = 0;
        STOP_WATCHING;
        REACHED(10, true);
        if
        :: IS_FAIR -> goto leave
        :: else -> goto finish /* it has made nothing, or deleted it */
        fi
    }
    EXPIRED
    KILLED
    fi;
#if N > 2 || defined(GHOST)
    goto watch;
#endif

#ifdef UNFAIR
back_off:
    if
    :: atomic { session[me] && version == seen_version && HAS_OWN_NAME -> version++; remove_name() }
    :: atomic { session[me] && version == seen_version && !HAS_OWN_NAME }
    :: atomic { session[me] && version != seen_version -> goto list }
#ifdef UNFAIR_ANY_VERSION
    :: atomic { session[me] && version != seen_version && HAS_OWN_NAME -> version++; remove_name() }
#endif
    EXPIRED
    KILLED
    fi;
    if
    :: atomic { ahead = 0; waited = false; REACHED(18, true); goto watch }
    LOST(list)
    EXPIRED
    KILLED
    fi;
#endif

#ifdef ACLS
join_anew:
    atomic { only_child = false; ahead = 0; predecessor = 0; waited = true; proof[me] = 0 };
    if
    :: atomic { session[me] && place[me] > 0 && version == seen_version -> version++; remove(me) }
    :: atomic { session[me] && place[me] == 0 && version == seen_version }
    :: atomic { session[me] && version != seen_version -> goto list }
    EXPIRED
    KILLED
    fi;
    if
    :: atomic { forget_place(); REACHED(33, true); goto ask_acl }
    LOST(list)
    EXPIRED
    KILLED
    fi;
#endif

#ifdef EARLY
early_proof:
    if
    :: atomic { session[me] && place[me] > 0 && !cut_off }
    :: atomic { session[me] && place[me] == 0 && !cut_off -> DELETED }
    :: atomic { true -> proof[me] = 0; goto watch } /* it is lost, or the event overtakes it */
    EXPIRED
    fi;
early_answer:
    if
    CUT_OFF(early_answer)
    :: atomic { NOTE_EARLY; proof[me] = 0; goto watch }
    :: atomic { true -> proof[me] = 0; goto watch }
    KILLED
    fi;
early_census:
    atomic { ahead = 0; predecessor = 0; STOP_WATCHING; waited = false };
    if
    :: atomic { session[me] && !cut_off -> READ_BEHIND_EVENT }
    :: atomic { cut_off }
    LOST(first)
    EXPIRED
    fi;
    if
    :: atomic { (session[me] && (place[me] > 0 || OWN_UNREAD)) || cut_off }
    :: atomic { session[me] && place[me] == 0 && !OWN_UNREAD -> DELETED }
    LOST(first)
    EXPIRED
    fi;
    if
    :: atomic {
        early[me] > 0 && seen_record && SEEN_VANISHED == 0 && !IS_BARRED ->
        proof[me] = PROVEN_EARLY;
        REACHED(32, cut_off && place[me] == 0);
        FORGET_EARLY;
        if
        :: LEFT > 0 -> REACHED(31, true); start_command(); goto running
        :: else -> goto first
        fi
    }
    :: atomic {
        !(early[me] > 0 && seen_record && SEEN_VANISHED == 0 && !IS_BARRED) ->
        FORGET_EARLY;
        goto first
    }
    LOST(first)
    KILLED
    fi;
#endif

first:
    atomic { FORGET_EARLY; ahead = 0; predecessor = 0; STOP_WATCHING; waited = false; proof[me] = L };
prove:
    if
    :: atomic { session[me] && place[me] > 0 && !IS_TOUCHED -> MARK(me); SHOW }
    :: atomic {
        session[me] && place[me] > 0 && IS_TOUCHED ->
        REACHED(22, true);
        waited = true;
        proof[me] = 0;
        goto list
    }
    :: atomic { session[me] && place[me] == 0 -> DELETED }
    LOST(prove_again)
    EXPIRED
    fi;
    if
    :: atomic {
        session[me] ->
#ifdef STALE_COUNT
        if
        :: settled -> read_census()
        :: else
        fi
#else
        read_census()
#endif
    }
    LOST(prove_again)
    EXPIRED
    fi;
    if
    :: atomic { ahead == 0 -> CONSIDER }
    :: atomic { ahead > 0 -> proof[me] = 0; goto watch }
    LOST(prove_again)
    KILLED
    fi;
prove_again:
    atomic { proof[me] = L; goto prove };

#ifdef REJOINS
rejoin:
    atomic {
        REACHED(23, settled);
#ifdef REJOINS_SETTLED
        waited = false; /* and settled carries over */
#else
        forget_place();
#endif
        proof[me] = L;
        goto join
    };
#endif

settle:
    if
    :: atomic { delay[me] == 0 -> settled = true; proof[me] = L; goto prove }
    :: atomic { !calm -> goto leave } /* a signal */
#ifdef REMOVE_UNSETTLED
    :: atomic { !calm -> goto removing }
#endif
    EXPIRED
    KILLED
    fi;

square:
    if
    :: atomic { session[me] && IS_FORBIDDEN -> BAR; SQUARE_REFUSED; goto prove_again }
    :: atomic {
        session[me] && !IS_FORBIDDEN && !(OWN_CHECKED && VERSION_CHECKED) ->
        SQUARE_REFUSED;
        goto prove_again
    }
    :: atomic {
        session[me] && !IS_FORBIDDEN && OWN_CHECKED && VERSION_CHECKED ->
        version = version + SQUARING;
        MARK_ANEW;
        REACHED(5, SQUARING > 1);
        REACHED(21, SQUARING < SEEN_VANISHED);
        REACHED(6, VANISHED > 0);
        CHECK_HIDES_NOTHING
    }
    SQUARE_LOST
    EXPIRED
    fi;
written:
    if
#if defined(UNFAIR) && !defined(UNFAIR_SQUARES_BY_NAME)
    :: atomic { unfair[me] -> goto prove_again }
    :: atomic { !unfair[me] -> HOLD }
#else
    :: atomic { SQUARING < SEEN_VANISHED -> goto prove_again }
    :: atomic { SQUARING >= SEEN_VANISHED -> NOTE_OWN_SETS; HOLD }
#endif
    SQUARE_LOST
    KILLED
    fi;

adopt:
    if
    :: atomic {
        session[me] && IS_FORBIDDEN ->
        BAR;
        if
        :: IS_TOO_LONG -> REACHED(28, true); proof[me] = 0; goto leave
        :: else -> goto prove_again
        fi
    }
    :: atomic {
        session[me] && !IS_FORBIDDEN && !(OWN_CHECKED && VERSION_CHECKED) -> goto prove_again
    }
    :: atomic {
        session[me] && !IS_FORBIDDEN && OWN_CHECKED && VERSION_CHECKED ->
        assert(!record);
        version++;
        base = (seen_departed - version) & 255;
        record = true;
        seen_record = true;
        NOTE_ADOPTION;
        MARK_ANEW;
        CHECK_HIDES_NOTHING;
        REACHED(15, VANISHED > 0);
        goto written
    }
    LOST(prove_again)
    EXPIRED
    fi;

#ifdef REMOVES
    /* The lock goes with the own znode; whoever joins next makes a new one, with counts of its own. */
removing:
    if
    :: atomic {
        session[me] && ALONE_UNCHANGED ->
        place[me] = 0;
        UNMARK(me);
        version = 0;
        departed = 0;
        base = 0;
        record = true;
        CHANGE_ACL;
        CHECK_HIDES_NOTHING;
        REACHED(19, joins > 0)
    }
    :: atomic { session[me] && !ALONE_UNCHANGED -> goto leave }
    LOST(removing)
    EXPIRED
    KILLED
    fi;
    if
    :: atomic { true -> goto finish }
    LOST(removing)
    KILLED
    fi;
#endif

#ifdef LATE_START
go:
    atomic {
        if
        :: proof[me] == 0 -> proof[me] = 1
        :: else
        fi;
        start_command()
    };
#endif

running:
    if
    :: atomic { lease[me] > 0 && !calm -> proof[me] = L }
    MARK_LATER
    :: atomic { /* it ended, or the guard ended it */
        REACHED(12, lease[me] == 0 && session[me]);
        lease[me] = 0;
        goto leave
    }
    KILLED
    fi;
running_proof:
    if
#ifdef PROOF_BY_PING
    :: atomic { true -> skip }
#else
    :: atomic { session[me] && place[me] > 0 -> skip }
    :: atomic { !session[me] || place[me] == 0 -> goto lost }
#endif
    :: atomic { true -> proof[me] = 0; goto running } /* it is lost, or the next is sent without it */
    fi;
    if
    :: atomic {
        if
        :: lease[me] > 0 && LEFT > lease[me] -> REACHED(7, true); lease[me] = LEFT
        :: else
        fi;
        proof[me] = 0;
        goto running
    }
    :: atomic { true -> proof[me] = 0; goto running }
    fi;
lost:
    atomic {
        lease[me] = 0;
        proof[me] = 0;
        if
        :: IS_FAIR -> goto leave
        :: else -> goto finish
        fi
    };

    /* Only when nothing of the command is alive any more. */
leave:
    if
#if defined(UNFAIR) && !defined(UNFAIR_LEAVES_BY_NAME)
    :: atomic { unfair[me] -> goto claim }
#endif
    :: atomic {
        session[me] && LEAVES && COUNTS && version == seen_version ->
        version++;
        remove_name();
        ONCE_MORE(leave);
        goto finish
    }
    :: atomic { session[me] && LEAVES && version != seen_version -> goto read_version }
    :: atomic { session[me] && LEAVES && !COUNTS -> goto read_version }
    :: atomic {
        session[me] && LEAVES && COUNTS && version != seen_version ->
        version++; /* after several tries */
        remove_name();
        ONCE_MORE(leave);
        goto finish
    }
    :: atomic { session[me] && !HAS_OWN_NAME -> goto finish }
    EXPIRED
    KILLED
    fi;
#ifdef UNFAIR
claim:
    if
#ifdef UNFAIR_CLAIMS_FIRST
    :: atomic { session[me] && place[me] > 0 }
    :: atomic { session[me] && place[me] == 0 -> goto finish }
#else
    :: atomic { session[me] -> read_census() }
#endif
    EXPIRED
    KILLED
    fi;
    if
#ifdef UNFAIR_CLAIMS_FIRST
    :: atomic { session[me] -> read_census() }
#else
    :: atomic { session[me] && place[me] > 0 }
    :: atomic { session[me] && place[me] == 0 -> goto finish }
#endif
    EXPIRED
    KILLED
    fi;
    if
    :: atomic {
        session[me] && version == seen_version && HAS_OWN_NAME ->
        version++;
        remove_name();
        ONCE_MORE(claim);
        goto finish
    }
    :: atomic { session[me] && version == seen_version && !HAS_OWN_NAME -> goto finish }
    :: atomic { session[me] && version != seen_version -> goto claim }
    EXPIRED
    KILLED
    fi;
#endif
read_version:
    if
    :: atomic { session[me] -> read_census(); if :: COUNTS -> goto leave :: else fi }
    EXPIRED
    KILLED
    fi;
    if
    :: atomic { session[me] && place[me] > 0 -> remove(me); goto finish } /* nowhere to count */
    :: atomic { session[me] && place[me] == 0 -> goto finish }
    EXPIRED
    KILLED
    fi;

killed:
    if
    :: atomic {
#ifndef COUNT_BEFORE_KILL
        lease[me] = 0;
#endif
        forget_place();
        goto resume
    }
    :: atomic { forget_place(); lone[me] = true; goto vanished }
    fi;
    /* The guard: a barrier write, behind which nothing of the dead keeper follows, then a list. */
resume:
    if
    :: atomic { session[me] && place[me] == 0 -> goto finish }
    :: atomic { session[me] && place[me] > 0 -> REACHED(13, true); goto read_version }
    EXPIRED
    KILLED
    fi;
vanished:
    atomic { !session[me] -> lone[me] = false; goto finish };

finish:
    atomic {
        lease[me] == 0 ->
        end_session(me);
        forget_place();
        FORGET_KIND;
        FORGET_LEASE;
        READ_OWN;
        LEAVE_SERVER;
        END_TURN;
        out[me] = true;
        goto end_out
    }
}

#define HAS_TIME_LEFT(c) (lease[c] > 0 || proof[c] > 0 || delay[c] > 0 || HAS_EARLY(c))
#define WAITS(c) (delay[c] > 0)
#define LESS(span) (span > 0 -> span - 1 : 0)
#define TICK(c) lease[c] = LESS(lease[c]); proof[c] = LESS(proof[c]); delay[c] = LESS(delay[c]); \
    TICK_EARLY(c)

/* Once calm, answers are fast: time passes when there is nothing else to do. */
proctype clock()
{
end:
    do
    :: atomic {
        OF_ALL(HAS_TIME_LEFT, ||) && (!calm || timeout) ->
        EACH(TICK);
        REACHED(14, OF_ALL(HIDDEN, ||) && OF_ALL(WAITS, ||))
    }
    od
}

inline note_expiry(c)
{
    REACHED(8, lease[c] > 0);
    REACHED(9, lease[c] > 0 && CHILDREN > 0)
}

#if (defined(FEW_FAULTS) || defined(NO_FAULTS)) && !defined(BREAKS)
#define BREAK(c)
#else
#define BREAK(c) :: atomic { !calm && place[c] > 0 -> remove(c) }
#endif

#if defined(HOLDERS_EXPIRE)
#define MAY_EXPIRE(c) (RUNS(c) || lone[c])
#elif defined(NO_FAULTS)
#define MAY_EXPIRE(c) lone[c]
#else
#define MAY_EXPIRE(c) (!calm || lone[c])
#endif
#define FAULT(c) \
    TOUCH(c) \
    :: atomic { session[c] && MAY_EXPIRE(c) -> end_session(c); note_expiry(c) } \
    BREAK(c)

#if N == 2
#define FAULTS FAULT(0) FAULT(1)
#else
#define FAULTS FAULT(0) FAULT(1) FAULT(2)
#endif

/* Sessions that expire, znodes that somebody deletes. */
proctype faults()
{
end:
progress:
    do
    FAULTS
#ifdef CALM
    :: atomic { !calm -> calm = true; break }
#endif
    od;
end_calm:
    do
    FAULTS
    od
}

#define STAY_OUT(c) out[c] = true

init
{
    atomic {
        EACH(STAY_OUT);
#if defined(ADOPT)
        departed = 2;
#elif defined(LEASES) && !defined(RECORD)
        departed = GONE;
#else
        departed = GONE;
        record = true;
#ifdef LEASES
        length = RECORD;
#endif
#endif
        run contender(0);
        run contender(1);
#if N > 2
        run contender(2);
#endif
        run clock();
        run faults()
    }
}
