/*
 * A lock and a semaphore on one path, in the manner of lock.pml; tests/model/check runs it.
 *
 * X is the znode that both name.  Contenders for the lock, two at a time, stand in X.  A permit
 * is a znode in X/leases, which is made when first asked for, and stays.  One at a time takes a
 * permit, under a lock that is no part of this.  What is shown: no command of a lock's holder runs
 * together with that of a permit's, nor two of lock holders.
 *
 *   - Who takes a permit lists X and reads its Stat and data behind its own create in X/leases.  If
 *     a contender stands there, or a record, which no semaphore has, it leaves again.  If somebody
 *     has left uncounted, that may have been a holder without WRITE: it waits the default lease
 *     from the receipt, then squares what it finds by sets of "", where it may write.  It looks
 *     behind its create in X/locks too, only so that nothing is made beside a lock.
 *   - Who joins the lock lists X behind its create.  If it finds X/leases, it leaves, counted by a
 *     set of the data that it read, with the version that it read.
 * Of the two creates, of a contender in X and of X/leases, one is the first, and who has made the
 * other one sees it or the count of its departure.  So no list is needed after the wait for the
 * vanished, however long that is.
 *
 * Without a record a lock is held by a lease of 2 ticks, the default; a record says 3.  At the
 * beginning X has data "" or, with RECORD, a record.  Requests are not lost.
 *
 * Each of these breaks one rule:
 *   PRESENT_ONLY      who takes a permit looks only at the contenders that are present
 *   NO_RECORD_LOOK    it does not mind a record, but the count
 *   NO_COUNT_LOOK     it does not mind the count, but a record
 *   LOOK_BEFORE       it reads X before its own create in X/leases, not behind that
 *   WAIT_FROM_BEFORE  it waits from its reading before the create on
 *   LOCK_LOOKS_BEFORE who joins the lock lists X before its create, not behind that
 *   REFUSED_SETS_ANY  who is refused sets "" whatever the version
 *
 * ONE_LOCKER: there is one contender for the lock at a time.
 */
#define LOCKERS 2
#define N 3
#define PERMIT 2 /* who takes permits */
#ifndef JOINS
#define JOINS 3
#endif
#ifndef REACH
#define REACH 0
#endif
#define DEFAULT 2
#define LONG 3

byte place[LOCKERS]; /* in X: 1 is first, 0 is none */
byte version, departed, base;
bool record;
bool leases; /* X/leases is there */
bool permit; /* the znode of who takes one */

bool session[N], out[N], lone[N];
byte lease[N], proof[N], delay[N];
byte joins = JOINS;
bool calm;
hidden byte gap;

#define OF_ALL(f, op) (f(0) op f(1) op f(2))
#define EACH(f) f(0); f(1); f(2)
#define RUNS(c) (lease[c] > 0)
#define LOCKED (RUNS(0) + RUNS(1))
#define CONTENDERS ((place[0] > 0) + (place[1] > 0))
/* Without a record base is 0. */
#define UNCOUNTED ((departed - version - base) & 255)
#define SEEN_UNCOUNTED ((seen_departed - seen_version - base) & 255)

/*
 * Happens: 1 a lock holder's command starts, 2 that of a permit's, 3 behind a wait, 4 who joins the
 * lock is refused, 5 and counted, 6 who takes a permit is refused behind its create, 7 a lock
 * holder without WRITE runs, hidden, while a permit waits, 8 a lock is adopted beside X/leases,
 * 9 the semaphore squares.
 */
#define REACHED(n, what) assert(!(REACH == (n) && (what)))

inline remove(c)
{
    gap = place[c];
    place[c] = 0;
    place[1 - c] = (place[1 - c] > gap -> place[1 - c] - 1 : place[1 - c]);
    departed++
}

inline end_session(c)
{
    session[c] = false;
    if
    :: c < LOCKERS && place[c % 2] > 0 -> remove(c % 2)
    :: c == PERMIT && permit -> permit = false
    :: else
    fi
}

inline read_x()
{
    seen_version = version;
    seen_departed = departed;
    seen_record = record
}

inline forget()
{
    seen_version = 0;
    seen_departed = 0;
    seen_record = false;
    seen_leases = false;
    behind = false;
    settled = false;
    proof[me] = 0;
    delay[me] = 0
}

#define EXPIRED :: atomic { !session[me] -> goto finish }
#define VANISHES :: atomic { !calm -> forget(); lone[me] = true; goto vanished }
#define LENGTH (seen_record -> LONG : DEFAULT)
/* Proofs are counted down from LONG. */
#define LEFT (proof[me] + LENGTH > LONG -> proof[me] + LENGTH - LONG : 0)

inline begin()
{
    out[me] = false;
    session[me] = true;
    joins--;
    proof[me] = LONG
}

inline start_command()
{
    lease[me] = LEFT;
    proof[me] = 0;
    REACHED(1, me < PERMIT);
    REACHED(2, me == PERMIT);
    REACHED(3, me == PERMIT && settled);
    assert(LOCKED <= 1 && !(RUNS(PERMIT) && LOCKED > 0))
}

/* From running on, the same for both. */
#define RUN_AND_FINISH \
running: \
    if \
    :: atomic { lease[me] > 0 && !calm -> proof[me] = LONG } \
    :: atomic { lease[me] = 0; goto leave } \
    VANISHES \
    fi; \
    if \
    :: atomic { session[me] && OWN_IS_THERE } \
    :: atomic { !session[me] || !OWN_IS_THERE -> lease[me] = 0; goto leave } \
    fi; \
    atomic { \
        lease[me] = (lease[me] > 0 && LEFT > lease[me] -> LEFT : lease[me]); \
        proof[me] = 0; \
        goto running \
    }; \
vanished: \
    atomic { !session[me] -> lone[me] = false; goto finish }; \
finish: \
    atomic { \
        lease[me] == 0 -> \
        end_session(me); \
        forget(); \
        FORGET; \
        out[me] = true; \
        goto end_out \
    }

#define OWN_IS_THERE (place[me] > 0)
#define FORGET may_write = false

proctype locker(byte me)
{
    byte seen_version, seen_departed;
    bool seen_record, seen_leases, behind, settled, may_write;

end_out:
    atomic {
        joins > 0 && !calm && (me == 0 || !out[0]) ->
        begin();
        if
        :: may_write = true
        :: true
        fi
#ifdef LOCK_LOOKS_BEFORE
        ;
        seen_leases = leases
#endif
    };
    if
    :: atomic { session[me] -> place[me] = 1 + CONTENDERS }
    EXPIRED
    fi;
    if
    :: atomic {
        session[me] ->
#ifndef LOCK_LOOKS_BEFORE
        seen_leases = leases;
#endif
        behind = place[me] > 1
    }
    EXPIRED
    fi;
    if
    :: atomic { session[me] -> read_x() }
    EXPIRED
    fi;
    if
    :: atomic { session[me] && seen_leases -> proof[me] = 0; REACHED(4, true); goto leave }
    :: atomic { session[me] && !seen_leases && behind -> behind = false; proof[me] = 0 }
    :: atomic { session[me] && !seen_leases && !behind -> goto consider }
    EXPIRED
    VANISHES
    fi;
    if
    :: atomic { place[me] <= 1 -> proof[me] = LONG }
    :: atomic { !calm -> goto leave }
    EXPIRED
    VANISHES
    fi;

prove:
    if
    :: atomic { session[me] && place[me] > 0 }
    :: atomic { session[me] && place[me] == 0 -> goto finish }
    EXPIRED
    fi;
    if
    :: atomic { session[me] -> read_x() }
    EXPIRED
    fi;
consider:
    if
    :: atomic {
        (seen_record && SEEN_UNCOUNTED == 0) || (settled && !seen_record && !may_write) -> goto hold
    }
    :: atomic {
        !settled && !(seen_record && SEEN_UNCOUNTED == 0) -> proof[me] = 0; delay[me] = LENGTH
    }
    :: atomic { settled && may_write && SEEN_UNCOUNTED > 0 && seen_record -> goto square }
    :: atomic { settled && may_write && !seen_record -> proof[me] = LONG; goto adopt }
    :: atomic { settled && !may_write && seen_record && SEEN_UNCOUNTED > 0 -> goto hold }
    VANISHES
    fi;
    if
    :: atomic { delay[me] == 0 -> settled = true; proof[me] = LONG; goto prove }
    :: atomic { !calm -> goto leave }
    EXPIRED
    VANISHES
    fi;

square:
    if
    :: atomic {
        session[me] && place[me] > 0 && version == seen_version ->
        version = version + SEEN_UNCOUNTED;
        proof[me] = LONG;
        goto prove
    }
    :: atomic {
        session[me] && !(place[me] > 0 && version == seen_version) -> proof[me] = LONG; goto prove
    }
    EXPIRED
    fi;
adopt:
    if
    :: atomic {
        session[me] && place[me] > 0 && version == seen_version ->
        assert(!record);
        version++;
        base = (seen_departed - version) & 255;
        record = true;
        seen_record = true;
        REACHED(8, leases)
    }
    :: atomic {
        session[me] && !(place[me] > 0 && version == seen_version) -> proof[me] = LONG; goto prove
    }
    EXPIRED
    fi;
hold:
    if
    :: atomic { LEFT > 0 -> start_command(); goto running }
    :: atomic { LEFT == 0 -> proof[me] = LONG; goto prove }
    VANISHES
    fi;

    /* Counted where that may be, by a set of what was read. */
leave:
    if
    :: atomic { session[me] && place[me] == 0 -> goto finish }
    :: atomic {
        session[me] && place[me] > 0 && !(may_write && (seen_record || seen_leases)) ->
        remove(me);
        goto finish
    }
    :: atomic {
        session[me] && place[me] > 0 && may_write && (seen_record || seen_leases) &&
        version == seen_version ->
        assert(record == seen_record);
        version++;
        remove(me);
        REACHED(5, seen_leases);
        goto finish
    }
#ifdef REFUSED_SETS_ANY
    :: atomic {
        session[me] && place[me] > 0 && may_write && !seen_record && seen_leases &&
        version != seen_version ->
        record = false;
        base = 0;
        version++;
        remove(me);
        goto finish
    }
#endif
    :: atomic {
        session[me] && place[me] > 0 && may_write && (seen_record || seen_leases) &&
        version != seen_version ->
        skip
    }
    EXPIRED
    VANISHES
    fi;
    if
    :: atomic { session[me] -> read_x(); goto leave }
    EXPIRED
    VANISHES
    fi;
    RUN_AND_FINISH
}

#undef OWN_IS_THERE
#undef FORGET
#define OWN_IS_THERE permit
#define FORGET may_write = false

#if defined(PRESENT_ONLY) || defined(NO_RECORD_LOOK)
#define MINDS_RECORD false
#else
#define MINDS_RECORD seen_record
#endif
#if defined(PRESENT_ONLY) || defined(NO_COUNT_LOOK)
#define MINDS_COUNT false
#else
#define MINDS_COUNT (SEEN_UNCOUNTED > 0)
#endif
#define IS_REFUSED (behind || MINDS_RECORD)

#ifdef WAIT_FROM_BEFORE
#define BEGIN_WAIT skip
#else
#define BEGIN_WAIT delay[me] = DEFAULT
#endif

proctype taker(byte me)
{
    byte seen_version, seen_departed;
    bool seen_record, seen_leases, behind, settled, may_write;

end_out:
    atomic {
        joins > 0 && !calm ->
        begin();
        if
        :: may_write = true
        :: true
        fi
    };
    if
    :: atomic { session[me] -> behind = CONTENDERS > 0 }
    EXPIRED
    fi;
    if
    :: atomic { session[me] -> read_x() }
    EXPIRED
    fi;
    if
    :: atomic { session[me] && IS_REFUSED -> goto finish }
#ifdef WAIT_FROM_BEFORE
    :: atomic { session[me] && !IS_REFUSED && MINDS_COUNT -> delay[me] = DEFAULT }
    :: atomic { session[me] && !IS_REFUSED && !MINDS_COUNT }
#else
    :: atomic { session[me] && !IS_REFUSED }
#endif
    EXPIRED
    fi;
    if
    :: atomic { session[me] -> leases = true; proof[me] = LONG }
    EXPIRED
    fi;
    if
    :: atomic { session[me] -> permit = true }
    EXPIRED
    VANISHES
    fi;
#ifdef LOOK_BEFORE
    goto look;
#endif

read:
    if
    :: atomic { session[me] -> behind = CONTENDERS > 0 }
    EXPIRED
    fi;
    if
    :: atomic { session[me] -> read_x() }
    EXPIRED
    fi;
look:
    if
    :: atomic { session[me] && IS_REFUSED -> REACHED(6, true); goto finish }
    :: atomic { !IS_REFUSED && !MINDS_COUNT -> goto hold }
    :: atomic { !IS_REFUSED && MINDS_COUNT && !settled -> proof[me] = 0; BEGIN_WAIT }
    :: atomic { !IS_REFUSED && MINDS_COUNT && settled && may_write -> goto square }
    :: atomic { !IS_REFUSED && MINDS_COUNT && settled && !may_write -> goto hold }
    VANISHES
    fi;
    if
    :: atomic { delay[me] == 0 -> settled = true; proof[me] = LONG }
    :: atomic { !calm -> goto finish }
    EXPIRED
    VANISHES
    fi;
prove:
    if
    :: atomic { session[me] && permit -> goto read }
    :: atomic { session[me] && !permit -> goto finish }
    EXPIRED
    fi;

square:
    if
    :: atomic {
        session[me] && version == seen_version ->
        version = version + SEEN_UNCOUNTED;
        REACHED(9, true)
    }
    :: atomic { session[me] && version != seen_version -> proof[me] = LONG; goto prove }
    EXPIRED
    fi;
hold:
    if
    :: atomic { LEFT > 0 -> start_command(); goto running }
    :: atomic { LEFT == 0 -> proof[me] = LONG; goto prove }
    VANISHES
    fi;

leave:
    goto finish;
    RUN_AND_FINISH
}

#define HAS_TIME_LEFT(c) (lease[c] > 0 || proof[c] > 0 || delay[c] > 0)
#define LESS(span) (span > 0 -> span - 1 : 0)
#define TICK(c) lease[c] = LESS(lease[c]); proof[c] = LESS(proof[c]); delay[c] = LESS(delay[c])

proctype clock()
{
end:
    do
    :: atomic {
        OF_ALL(HAS_TIME_LEFT, ||) && (!calm || timeout) ->
        EACH(TICK);
        REACHED(7, !record && LOCKED > 0 && CONTENDERS == 0 && delay[PERMIT] > 0)
    }
    od
}

#define FAULT(c) \
    :: atomic { session[c] && ((RUNS(c) && !calm) || lone[c]) -> end_session(c) }

proctype faults()
{
end:
progress:
    do
    FAULT(0) FAULT(1) FAULT(2)
    :: atomic { !calm -> calm = true; break }
    od;
end_calm:
    do
    FAULT(0) FAULT(1) FAULT(2)
    od
}

#define STAY_OUT(c) out[c] = true

init
{
    atomic {
        EACH(STAY_OUT);
#ifdef RECORD
        record = true;
#endif
        run locker(0);
#ifndef ONE_LOCKER
        run locker(1);
#endif
        run taker(PERMIT);
        run clock();
        run faults()
    }
}
