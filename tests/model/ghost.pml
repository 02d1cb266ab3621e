/*
 * GHOST: a server that has lost transactions (ZOOKEEPER-4541, -4785).  It shows for ever a znode that
 * went before the beginning and stood before all others, and so lacks that departure; what was
 * written since, it has.  Its count of the vanished is too low by one from the moment on at which
 * somebody else squares that departure: below zero while nobody else is missing.
 *
 * A contender at such a server waits for the ghost, asks by a write and goes elsewhere (VERIFY).  Or
 * it stands behind a predecessor, whose mark "held" says that nobody is before it and so replaces
 * the list.  Therefore the count is read with each mark, and one below zero is no count: the
 * contender goes elsewhere.  A square or an adoption marks the own znode anew, so that the mark is
 * read once more behind it; a mark that has changed since it was read counts for nothing, nor does a list of
 * another server.
 *
 * Each of these breaks one rule:
 *   NO_VERIFY       nobody asks by a write whether its predecessor is there
 *   MARK_UNCOUNTED  the count is not read with the mark
 *   MARK_ONCE       squares and adoptions leave the mark as it is
 *   MARK_OUTLIVED   a mark that has changed since it was read counts all the same
 *   LIST_OUTLIVED   a list that another server gave counts all the same
 */
#ifdef GHOST

#if N != 2
#error "of two contenders the other one is the predecessor"
#endif

bool stale[N];  /* the server of that contender is the one */
bool unread[N]; /* the predecessor's data has changed since that contender has read it */

#define SEEN_OF_GHOST bool by_mark, moved, listed_elsewhere
#define FORGET_MARK by_mark = false; listed_elsewhere = false
#define IS_STALE stale[me]
#define WAITS_FOR_GHOST (stale[me] && predecessor == me)
#define CHOOSE_SERVER if :: stale[me] = true :: true fi
#define LEAVE_SERVER stale[me] = false
#define AND_GHOST \
    FORGET_MARK; \
    ahead = ahead + stale[me]; \
    predecessor = (ahead == 1 && stale[me] -> me : predecessor)

#define SHOW unread[1 - me] = true
#ifdef MARK_ONCE
#define MARK_ANEW skip
#else
#define MARK_ANEW MARK(me); SHOW
#endif

/* Once while it waits it may come to that server from another one. */
#define MOVE \
    :: atomic { \
        session[me] && !stale[me] && !moved -> \
        moved = true; \
        stale[me] = true; \
        by_mark = false; \
        listed_elsewhere = true; \
        REACHED(30, true) \
    }
#ifdef LIST_OUTLIVED
#define MAY_LIST (ahead > 1)
#else
#define MAY_LIST (ahead > 1 || listed_elsewhere)
#endif

#ifdef MARK_UNCOUNTED
#define LESS_THAN_NONE false
#else
#define LESS_THAN_NONE (record && ((departed - IS_STALE - version - base) & 255) >= 128)
#endif
#define READ_MARK \
    :: atomic { \
        session[me] && MAY_LIST && !WAITS_FOR_GHOST && !PREDECESSOR_GONE && held[predecessor] && \
            (unread[me] || !by_mark) -> \
        unread[me] = false; \
        by_mark = true; \
        if \
        :: LESS_THAN_NONE -> REACHED(29, true); LEAVE_SERVER; goto list \
        :: else \
        fi \
    }
#ifdef MARK_OUTLIVED
#define GOES_BY_MARK by_mark
#else
#define GOES_BY_MARK (by_mark && !unread[me])
#endif

/* A write finds that it is gone, and another server does not show it. */
#ifdef NO_VERIFY
#define FIND_GHOST
#else
#define FIND_GHOST \
    :: atomic { WAITS_FOR_GHOST && session[me] -> REACHED(24, true); LEAVE_SERVER; goto list }
#endif

#else
#define SEEN_OF_GHOST
#define FORGET_MARK skip
#define IS_STALE false
#define WAITS_FOR_GHOST false
#define CHOOSE_SERVER skip
#define LEAVE_SERVER skip
#define AND_GHOST skip
#define SHOW skip
#define MARK_ANEW skip
#define READ_MARK
#define MOVE
#define MAY_LIST (ahead > 1)
#define GOES_BY_MARK false
#define FIND_GHOST
#endif
