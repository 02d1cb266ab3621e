/*
 * A set of two locks, in the manner of lock.pml; tests/model/check runs it.
 *
 * One contender takes both locks, the first and then the second; the other one takes either, in
 * turns.  The leases of the locks differ.  What is shown: no two commands under one lock; whoever
 * holds all its locks and finds the proofs fresh has time left to start its command, however long
 * the second lock was waited for; and nobody waits for ever.
 *
 *   - The set is complete when the last lock is held and no proof is older than half of the
 *     smallest lease (a sixth, in the code); else all of them are asked for anew.
 *   - Its end is the oldest proof and the smallest lease.
 *   - While it waits for the second lock the first may go; a proof finds that out, and it starts
 *     over in a new session.
 *
 * Left out: locks without a record, requests that are lost.
 *
 * SHORT_FIRST: the first lock has the shorter lease, instead of the second.
 *
 * Each of these breaks one rule:
 *   FRESH_BY_OWN   each proof has to be fresh by the lease of its own lock: no time may be left
 *   NEVER_STALE    proofs of locks that were taken first are not looked at again
 *   END_BY_NEWEST  the end is the newest proof and the smallest lease
 *   END_BY_LONGEST the end is the oldest proof and the longest lease
 *   LAST_ALONE     the end is that of the last lock
 */
#define N 2
#ifndef JOINS
#define JOINS 3
#endif
#ifndef REACH
#define REACH 0
#endif
#define SHORT 2
#define LONG 4

#ifdef SHORT_FIRST
#define LEASE(lock) (lock == 0 -> SHORT : LONG)
#else
#define LEASE(lock) (lock == 0 -> LONG : SHORT)
#endif

/* Of two locks for two contenders: that of lock k and contender c is 2 * k + c. */
byte place[4];
byte version[2], departed[2];

bool session[N], out[N], lone[N];
bool takes[4]; /* what the command of a contender needs */
byte lease[N], delay[N];
byte proof[4]; /* counted down from LONG */
byte joins = JOINS;
bool calm;
hidden byte gap;

#define RUNS(c) (lease[c] > 0)
#define OVERLAP(lock) (RUNS(0) && RUNS(1) && takes[2 * lock] && takes[2 * lock + 1])

/*
 * Happens: 1 a set starts, 2 behind a wait for the second lock, 3 behind the lease of one that
 * vanished, 4 proofs are refreshed, 5 the first lock goes while the second is waited for, 6 a set
 * runs hidden while the next one waits.
 */
#define REACHED(n, what) assert(!(REACH == (n) && (what)))

#define OWN(lock) (2 * (lock) + me)
#define OTHER(lock) (2 * (lock) + 1 - me)
#define SEEN_VANISHED ((seen_departed - seen_version) & 255)

inline remove(at, lock)
{
    gap = place[at];
    place[at] = 0;
    place[at ^ 1] = (place[at ^ 1] > gap -> place[at ^ 1] - 1 : place[at ^ 1]);
    departed[lock]++
}

inline end_session(c)
{
    session[c] = false;
    if
    :: place[c] > 0 -> remove(c, 0)
    :: else
    fi;
    if
    :: place[2 + c] > 0 -> remove(2 + c, 1)
    :: else
    fi
}

inline forget()
{
    seen_version = 0;
    seen_departed = 0;
    ahead = false;
    waited = false;
    settled = false;
    lock = 0;
    proof[OWN(0)] = 0;
    proof[OWN(1)] = 0;
    delay[me] = 0
}

inline read_census()
{
    seen_version = version[lock];
    seen_departed = departed[lock]
}

#define EXPIRED :: atomic { !session[me] -> goto finish }
#ifdef NO_FAULTS
#define VANISHES
#else
#define VANISHES \
    :: atomic { \
        !calm -> \
        forget(); \
        lone[me] = true; \
        goto vanished \
    }
#endif

#define AGE(at) (LONG - proof[at])
#define MIN(a, b) (a < b -> a : b)
#define MAX(a, b) (a > b -> a : b)
#define BOTH (takes[OWN(0)] && takes[OWN(1)])
#define SMALLEST (BOTH -> SHORT : LEASE(lock))
#define OLDEST (BOTH -> MIN(proof[OWN(0)], proof[OWN(1)]) : proof[OWN(lock)])
#define NEWEST (BOTH -> MAX(proof[OWN(0)], proof[OWN(1)]) : proof[OWN(lock)])

#if defined(FRESH_BY_OWN)
#define IS_FRESH_IN(k) (!takes[OWN(k)] || AGE(OWN(k)) <= LEASE(k) / 2)
#elif defined(NEVER_STALE)
#define IS_FRESH_IN(k) (!takes[OWN(k)] || k < lock || AGE(OWN(k)) <= SMALLEST / 2)
#else
#define IS_FRESH_IN(k) (!takes[OWN(k)] || AGE(OWN(k)) <= SMALLEST / 2)
#endif
#define IS_FRESH (IS_FRESH_IN(0) && IS_FRESH_IN(1))

#define POSITIVE(span) (span > LONG -> span - LONG : 0)
#if defined(END_BY_NEWEST)
#define LEFT POSITIVE(NEWEST + SMALLEST)
#elif defined(END_BY_LONGEST)
#define LEFT POSITIVE(OLDEST + LONG)
#elif defined(LAST_ALONE)
#define LEFT POSITIVE(proof[OWN(lock)] + LEASE(lock))
#else
#define LEFT POSITIVE(OLDEST + SMALLEST)
#endif

#define IS_GONE(k) (takes[OWN(k)] && place[OWN(k)] == 0)

inline prove_all()
{
    proof[OWN(0)] = (takes[OWN(0)] -> LONG : 0);
    proof[OWN(1)] = (takes[OWN(1)] -> LONG : 0)
}

proctype contender(byte me)
{
    byte seen_version, seen_departed, lock;
    bool ahead, waited, settled;

end_out:
    atomic {
        joins > 0 && !calm ->
        joins--;
        out[me] = false;
        if
        :: me == 0 -> takes[OWN(0)] = true; takes[OWN(1)] = true
        :: me == 1 -> takes[OWN(0)] = true
        :: me == 1 -> takes[OWN(1)] = true; lock = 1
        fi;
        session[me] = true
    };

join:
    atomic { proof[OWN(lock)] = LONG; settled = false; waited = false };
    if
    :: atomic { session[me] -> place[OWN(lock)] = 1 + (place[OTHER(lock)] > 0) }
    EXPIRED
    fi;
    if
    :: atomic { session[me] && place[OWN(lock)] > 0 -> ahead = place[OWN(lock)] > 1 }
    :: atomic { session[me] && place[OWN(lock)] == 0 -> goto finish }
    EXPIRED
    fi;
    if
    :: atomic { session[me] -> read_census() }
    EXPIRED
    fi;
    if
    :: atomic { ahead -> ahead = false; waited = true; proof[OWN(lock)] = 0 }
    :: atomic { !ahead -> goto consider }
    VANISHES
    fi;

wait:
    if
    :: atomic { place[OWN(lock)] <= 1 -> goto prove }
    :: atomic { !calm && BOTH && lock == 1 -> proof[OWN(0)] = LONG }
    :: atomic { !calm -> goto leave }
    EXPIRED
    VANISHES
    fi;
    if
    :: atomic { session[me] && place[OWN(0)] > 0 -> goto wait }
    :: atomic {
        session[me] && place[OWN(0)] == 0 ->
        REACHED(5, true);
        goto finish
    }
    EXPIRED
    fi;

prove:
    atomic { proof[OWN(lock)] = LONG };
    if
    :: atomic { session[me] && place[OWN(lock)] > 0 }
    :: atomic { session[me] && place[OWN(lock)] == 0 -> goto finish }
    EXPIRED
    fi;
    if
    :: atomic { session[me] -> read_census() }
    EXPIRED
    fi;
consider:
    if
    :: atomic { SEEN_VANISHED == 0 -> goto hold }
    :: atomic { SEEN_VANISHED > 0 && !settled -> proof[OWN(lock)] = 0; delay[me] = LEASE(lock) }
    :: atomic { SEEN_VANISHED > 0 && settled -> goto square }
    VANISHES
    fi;
    if
    :: atomic { delay[me] == 0 -> settled = true; goto prove }
    :: atomic { !calm -> goto leave }
    EXPIRED
    VANISHES
    fi;

square:
    if
    :: atomic {
        session[me] && place[OWN(lock)] > 0 && version[lock] == seen_version ->
        version[lock] = version[lock] + SEEN_VANISHED;
        goto prove
    }
    :: atomic {
        session[me] && !(place[OWN(lock)] > 0 && version[lock] == seen_version) -> goto prove
    }
    EXPIRED
    fi;

hold:
    if
    :: atomic { BOTH && lock == 0 -> seen_version = 0; seen_departed = 0; lock = 1; goto join }
    :: atomic {
        (!BOTH || lock == 1) && IS_FRESH ->
        lease[me] = LEFT;
        /* A single lock had no time to become old, by the same rule. */
        assert(lease[me] > 0);
        assert(!OVERLAP(0) && !OVERLAP(1));
        REACHED(1, BOTH);
        REACHED(2, BOTH && waited);
        REACHED(3, BOTH && settled);
        goto running
    }
    :: atomic { (!BOTH || lock == 1) && !IS_FRESH -> prove_all(); REACHED(4, BOTH) }
    VANISHES
    fi;
    if
    :: atomic { session[me] && !IS_GONE(0) && !IS_GONE(1) -> goto hold }
    :: atomic { session[me] && (IS_GONE(0) || IS_GONE(1)) -> goto finish }
    EXPIRED
    fi;

running:
    if
    :: atomic { lease[me] > 0 && !calm -> prove_all() }
    :: atomic { lease[me] = 0; goto leave }
    VANISHES
    fi;
    if
    :: atomic { session[me] && !IS_GONE(0) }
    :: atomic { !session[me] || IS_GONE(0) -> lease[me] = 0; goto leave }
    fi;
    if
    :: atomic { session[me] && !IS_GONE(1) }
    :: atomic { !session[me] || IS_GONE(1) -> lease[me] = 0; goto leave }
    fi;
    atomic {
        lease[me] = (lease[me] > 0 && LEFT > lease[me] -> LEFT : lease[me]);
        goto running
    };

    /* The last one first. */
leave:
    if
    :: atomic { session[me] && place[OWN(1)] > 0 -> version[1]++; remove(OWN(1), 1); goto leave }
    :: atomic { session[me] && place[OWN(1)] == 0 && place[OWN(0)] > 0 ->
        version[0]++;
        remove(OWN(0), 0);
        goto finish }
    :: atomic { session[me] && place[OWN(1)] == 0 && place[OWN(0)] == 0 -> goto finish }
    EXPIRED
    VANISHES
    fi;

vanished:
    atomic { !session[me] -> lone[me] = false; goto finish };
finish:
    atomic {
        lease[me] == 0 ->
        end_session(me);
        forget();
        takes[OWN(0)] = false;
        takes[OWN(1)] = false;
        out[me] = true;
        goto end_out
    }
}

#define LESS(span) (span > 0 -> span - 1 : 0)
#define HAS_TIME_LEFT(c) (lease[c] > 0 || delay[c] > 0 || proof[c] > 0 || proof[2 + c] > 0)
#define TICK(c) \
    lease[c] = LESS(lease[c]); \
    delay[c] = LESS(delay[c]); \
    proof[c] = LESS(proof[c]); \
    proof[2 + c] = LESS(proof[2 + c])

proctype clock()
{
end:
    do
    :: atomic {
        (HAS_TIME_LEFT(0) || HAS_TIME_LEFT(1)) && (!calm || timeout) ->
        TICK(0);
        TICK(1);
        REACHED(6, RUNS(0) && place[0] + place[2] == 0 && delay[1] > 0)
    }
    od
}

/*
 * A session may expire, a znode be deleted by somebody.  With NO_FAULTS only the session of who runs
 * a command, and only the first znode of a set.
 */
#ifdef NO_FAULTS
#define FAULT(c) :: atomic { session[c] && RUNS(c) && !calm -> end_session(c) }
#define FAULTS FAULT(0) FAULT(1) :: atomic { !calm && place[0] > 0 -> remove(0, 0) }
#else
#define FAULT(c) \
    :: atomic { session[c] && (!calm || lone[c]) -> end_session(c) } \
    :: atomic { !calm && place[c] > 0 -> remove(c, 0) } \
    :: atomic { !calm && place[2 + c] > 0 -> remove(2 + c, 1) }
#define FAULTS FAULT(0) FAULT(1)
#endif

proctype faults()
{
end:
progress:
    do
    FAULTS
    :: atomic { !calm -> calm = true; break }
    od;
end_calm:
    do
    FAULTS
    od
}

init
{
    atomic {
        out[0] = true;
        out[1] = true;
        run contender(0);
        run contender(1);
        run clock();
        run faults()
    }
}
