/*
 * EARLY: a contender that knows that it is next, because its predecessor was first in the list or
 * is marked held by an exclusive one, proves that it is alive while it still waits.  When the
 * predecessor goes, it reads the count behind that, then its own znode.  If nobody vanished, the
 * znode is there, and a proof has been answered, it starts at once, with what is left of the lease
 * of that proof, and marks its znode afterwards.  In any doubt it proves anew, as without EARLY.
 *
 * Each of these breaks one rule:
 *   EARLY_FROM_RECEIPT  the lease runs from the answer to the early proof
 *   EARLY_FROM_EVENT    the lease runs from the moment at which the predecessor has gone
 *   EARLY_UNCOUNTED     the count is that of an earlier read, not of one behind the predecessor's end
 *   EARLY_OWN_UNREAD    nor is it looked whether the own znode is there: somebody may have deleted
 *                       it, and the predecessor have squared that, since nobody behind it held
 *   EARLY_NOT_NEXT      a proof of who has more than one ahead counts too; needs N = 3
 */
#ifdef EARLY

#ifdef PERMITS
#error "who waits for a permit waits for nobody in particular"
#endif

byte early[N]; /* ticks that are left of the lease by the last early proof that was answered */

#define HAS_EARLY(c) (early[c] > 0)
#define TICK_EARLY(c) early[c] = LESS(early[c])
#define FORGET_EARLY early[me] = 0; cut_off = false

#ifdef EARLY_NOT_NEXT
#define IS_NEXT true
#else
#define IS_NEXT ((!MAY_LIST || GOES_BY_MARK) && WAITS_FOR_FAIR)
#endif
#define PROVE_EARLY \
    :: atomic { \
        IS_FAIR && IS_NEXT && !WAITS_FOR_GHOST && !calm -> \
        proof[me] = L; \
        goto early_proof \
    }
#ifdef EARLY_FROM_RECEIPT
#define NOTE_EARLY early[me] = L
#else
#define NOTE_EARLY early[me] = proof[me]
#endif
#ifdef EARLY_FROM_EVENT
#define PROVEN_EARLY L
#else
#define PROVEN_EARLY early[me]
#endif
#ifdef EARLY_UNCOUNTED
#define READ_BEHIND_EVENT skip
#define CENSUS_OF_THEN skip
#else
#define READ_BEHIND_EVENT read_census()
#define CENSUS_OF_THEN read_census()
#endif
/* Behind an unfair one anybody unfair may come. */
#ifdef UNFAIR
#define WAITS_FOR_FAIR (watched[me] > 0 && !unfair[1 - me])
#else
#define WAITS_FOR_FAIR true
#endif

/* A watch tells that it has gone, not that the own znode has. */
#ifdef UNFAIR
#define SAW_IT_GO (watched[me] == 2)
#else
#define SAW_IT_GO \
    (place[predecessor] == 0 || (place[me] > 0 && place[predecessor] > place[me]))
#endif
#ifdef EARLY_OWN_UNREAD
#define OWN_UNREAD true
#else
#define OWN_UNREAD false
#endif
#define START_EARLY :: IS_NEXT && (SAW_IT_GO || cut_off) && early[me] > 0 -> goto early_census

/*
 * The server may be cut off from the others when the predecessor has gone.  It commits nothing any
 * more, but answers reads by what it had then: also those that are sent later.
 */
#define SEEN_EARLY bool cut_off
#define SAW_GONE cut_off
#define CUT_OFF(here) \
    :: atomic { \
        IS_FAIR && IS_NEXT && !WAITS_FOR_GHOST && !cut_off && !calm && \
            session[me] && place[me] > 0 && ahead > 0 && SAW_IT_GO -> \
        cut_off = true; \
        CENSUS_OF_THEN; \
        goto here \
    }
#if N > 2 || defined(GHOST)
#define MARK_LATER \
    :: atomic { \
        session[me] && place[me] > 0 && !held[me] && MARK_IS_EXCLUSIVE(me) -> \
        MARK(me); \
        SHOW; \
        goto running \
    }
#else
#define MARK_LATER
#endif

#else
#define HAS_EARLY(c) false
#define TICK_EARLY(c) skip
#define FORGET_EARLY skip
#define PROVE_EARLY
#define START_EARLY
#define SEEN_EARLY
#define SAW_GONE false
#define CUT_OFF(here)
#define MARK_LATER
#endif
