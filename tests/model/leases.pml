/*
 * What a lock without a record adds, by the switch LEASES: contenders ask for leases of their own,
 * 1 or LONGEST ticks, 3, where 2 are the default (a lease of 1 ends by the next tick), and nobody holds before a record with a lease stands in the
 * lock's znode, whose lease then is everybody's.
 *
 * RECORD=n    there is a record from the beginning, of a lease of n ticks.
 * FORBIDS     who joins may lack WRITE for the lock's znode: it can neither adopt, square nor count
 *             itself out, and learns that from the answer.  Without a record it holds by the
 *             default, and is refused with a longer lease.  FIRST_FORBIDDEN=n: the first n contenders
 *             always do, and nobody else.
 * RISKS       who joins may have --lock-delay 0: it adopts without waiting and never squares.
 *             Nobody else starts beside a command for that.
 *
 * Who adopts counts those as vanished that it has not waited for.  Nobody runs behind an exclusive
 * one, so it has waited for all that are gone; a reader or a permit holder has waited for those who
 * were gone when its wait began; with --lock-delay 0 it has waited for nobody.
 *
 * Each of these breaks one rule:
 *   OWN_LEASES           without a record each goes by its own lease, in waiting and in holding
 *   READER_ADOPTS_NEVER  a reader or permit holder that saw another one leave while it waited holds
 *                        without having adopted
 *   RISK_ADOPTS_NEVER    with --lock-delay 0 it holds without having adopted
 *   WAIT_OWN             who adopts has waited for its own lease only, be it shorter than the default
 *   ADOPT_OWN            the record's lease is the own one, be it shorter than the default
 *   FORBIDDEN_LONGER     without WRITE a lease longer than the default is not refused
 *   ADOPT_ALL            a reader or permit holder counts nobody as vanished who left in its wait
 *   RISK_ADOPTS_ALL      with --lock-delay 0 it counts nobody as vanished when it adopts
 *   ADOPTED_ARE_DUE      a permit holder squares by a wait that began before there was a record
 */
#ifdef LEASES
#ifndef DEFAULT
#define DEFAULT 2
#endif
#ifndef LONGEST
#define LONGEST 3
#endif
#define L LONGEST

byte length; /* of the record's lease */
byte own[N]; /* the lease that is asked for */
#ifdef FORBIDS
bool forbidden[N];
#ifdef FIRST_FORBIDDEN
#define CHOOSE_RIGHTS forbidden[me] = me < FIRST_FORBIDDEN
#else
#define CHOOSE_RIGHTS if :: forbidden[me] = true :: true fi
#endif
#define FORGET_RIGHTS forbidden[me] = false
#define IS_FORBIDDEN forbidden[me]
#else
#define CHOOSE_RIGHTS skip
#define FORGET_RIGHTS skip
#define IS_FORBIDDEN false
#endif
#ifdef RISKS
bool risks[N];
#define CHOOSE_RISK if :: risks[me] = true :: true fi
#define FORGET_RISK risks[me] = false
#define IS_CAREFUL (!risks[me])
#else
#define CHOOSE_RISK skip
#define FORGET_RISK skip
#define IS_CAREFUL true
#endif
#define CHOOSE_LEASE \
    if \
    :: own[me] = 1 \
    :: own[me] = LONGEST \
    fi; \
    CHOOSE_RIGHTS; \
    CHOOSE_RISK
#define FORGET_LEASE own[me] = 0; FORGET_RIGHTS; FORGET_RISK

#define MAX(a, b) (a > b -> a : b)
#ifdef OWN_LEASES
#define UNRECORDED own[me]
#elif defined(FORBIDDEN_LONGER)
#define UNRECORDED MAX(own[me], DEFAULT)
#else
#define UNRECORDED DEFAULT
#endif
#define HELD_FOR (seen_record -> seen_length : UNRECORDED)
#define LEFT (proof[me] + HELD_FOR > L -> proof[me] + HELD_FOR - L : 0)
#if defined(OWN_LEASES) || defined(WAIT_OWN)
#define UNRECORDED_WAIT own[me]
#else
#define UNRECORDED_WAIT MAX(own[me], DEFAULT)
#endif
/* Where nobody has ever left, nobody has vanished. */
#define WAITED_LENGTH \
    (seen_record -> seen_length : (seen_departed == 0 -> 0 : UNRECORDED_WAIT))
#if defined(OWN_LEASES) || defined(ADOPT_OWN)
#define ADOPTED_LENGTH own[me]
#else
#define ADOPTED_LENGTH MAX(own[me], DEFAULT)
#endif

#if defined(OWN_LEASES) || defined(FORBIDDEN_LONGER)
#define IS_TOO_LONG false
#else
#define IS_TOO_LONG (!seen_record && own[me] > DEFAULT)
#endif

#ifdef READERS
#define IS_ALONE (!reader[me])
#elif defined(PERMITS)
#define IS_ALONE false
#else
#define IS_ALONE true
#endif
/* As is_unchanged() has it. */
#define SEEN_CHANGED (seen_departed != settled_departed || seen_version != settled_version)
#ifdef READER_ADOPTS_NEVER
#define MAY_ADOPT (IS_ALONE || !SEEN_CHANGED)
#else
#define MAY_ADOPT true
#endif
#ifdef RISK_ADOPTS_NEVER
#define RISK_ADOPTS false
#else
#define RISK_ADOPTS true
#endif

/* Those among the departed that count as vanished. */
#ifdef RISK_ADOPTS_ALL
#define RISKED 0
#elif defined(PERMITS)
#define RISKED (seen_departed < PERMITS -> seen_departed : PERMITS)
#else
#define RISKED (seen_departed < 1 -> seen_departed : 1)
#endif
#ifdef ADOPT_ALL
#define UNWAITED 0
#else
#define UNWAITED (IS_ALONE -> 0 : seen_departed - settled_departed)
#endif
#define ADOPTED_VANISHED (IS_CAREFUL -> UNWAITED : RISKED)

/* Squares are for those who were waited for under the record. */
#ifdef ADOPTED_ARE_DUE
#define SETTLED_UNRECORDED false
#else
#define SETTLED_UNRECORDED unrecorded
#endif

#define SEEN_OF_RECORD \
    byte seen_length, settled_departed, settled_version; \
    bool barred, unrecorded
#define READ_RECORD seen_length = length
#define BEGIN_SETTLING \
    settled_departed = seen_departed; \
    settled_version = seen_version; \
    unrecorded = !seen_record
#define FORGET_RECORD \
    seen_length = 0; \
    settled_departed = 0; \
    settled_version = 0; \
    barred = false; \
    unrecorded = false
#define NOTE_ADOPTION \
    REACHED(26, IS_CAREFUL && ADOPTED_VANISHED > 0); \
    REACHED(27, !IS_CAREFUL && ADOPTED_VANISHED > 0); \
    length = ADOPTED_LENGTH; \
    seen_length = length; \
    base = (base - ADOPTED_VANISHED) & 255; \
    seen_version = version; \
    ADOPTED_BY_KIND
#define IS_BARRED barred
#ifdef PERMITS
#define ADOPTED_BY_KIND squaring = SEEN_VANISHED
#else
#define ADOPTED_BY_KIND skip
#endif
#define STARTS_CAREFULLY IS_CAREFUL

#ifdef RISKS
#ifdef PERMITS
#define MOST_HIDDEN PERMITS
#else
#define MOST_HIDDEN 1
#endif
#define CHECK_HIDES_NOTHING \
    assert(!record || VANISHED < 128); \
    assert(!record || OF_ALL(HIDDEN, +) <= VANISHED || MOST_HIDDEN <= VANISHED)
#else
#define CHECK_HIDES_NOTHING \
    assert(!record || VANISHED < 128); \
    assert(!record || OF_ALL(HIDDEN, +) <= VANISHED)
#endif

#else
#define IS_FORBIDDEN false
#define IS_BARRED false
#define IS_CAREFUL true
#define IS_TOO_LONG false
#define RISK_ADOPTS true
#define MAY_ADOPT MAY_SQUARE
#define LEFT proof[me]
#define WAITED_LENGTH (seen_record || seen_departed > 0 -> L : 0)
#define CHOOSE_LEASE skip
#define FORGET_LEASE skip
#define SEEN_OF_RECORD
#define READ_RECORD skip
#define BEGIN_SETTLING skip
#define FORGET_RECORD skip
#define NOTE_ADOPTION skip
#endif
