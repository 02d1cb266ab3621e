/*
 * What is different between locks as they stood and as they stand: one change for each contender
 * that came, went or got further.  No input or output.
 */
#ifndef ZKFLOCK_LIST_CHANGE_H
#define ZKFLOCK_LIST_CHANGE_H

#include "list/view.h"

enum change_kind {
    CHANGE_FREE, /* at the beginning: nobody is there */
    CHANGE_HELD, /* at the beginning: somebody holds it already */
    CHANGE_ACQUIRED,
    CHANGE_WAITING,
    CHANGE_SETTLING, /* it is first, but waits for a holder that vanished */
    CHANGE_RELEASED,
    CHANGE_LEFT,     /* gave its place in the queue up */
    CHANGE_VANISHED, /* went without a word */
    CHANGE_MADE,     /* a lock is there that was not; before its contenders */
    CHANGE_REMOVED,
};

struct change {
    enum change_kind kind;
    const struct view *view;                /* as it stands: free, where it is gone */
    const struct view_contender *contender; /* NULL where it is about the lock */
};

/* The word for it. */
const char *list_change_word(enum change_kind kind);

/*
 * Calls take for every change between two lists in the order of paths, those who go before those
 * who come; with old NULL all that there is, as the beginning.  Stops and returns what take returns
 * if that is not 0.
 */
int list_changes(const struct view *old, size_t old_len, const struct view *now, size_t now_len,
                 int (*take)(const struct change *change, void *whose), void *whose);

#endif
