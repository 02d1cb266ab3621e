/*
 * What changed between two readings of locks: one change for each contender that came, went or got
 * further.  No input or output.
 */
#ifndef ZKFLOCK_LIST_CHANGE_H
#define ZKFLOCK_LIST_CHANGE_H

#include "list/view.h"

enum change_kind {
    CHANGE_FREE, /* at the beginning: the queue is empty */
    CHANGE_HELD, /* at the beginning: it holds the lock already */
    CHANGE_ACQUIRED,
    CHANGE_WAITING,
    CHANGE_SETTLING, /* it is first, but waits for a holder that vanished */
    CHANGE_RELEASED,
    CHANGE_LEFT,     /* gave up its place in the queue */
    CHANGE_VANISHED, /* went without a word */
    CHANGE_MADE,     /* a lock that was not there; before its contenders */
    CHANGE_REMOVED,
};

struct change {
    enum change_kind kind;
    const struct view *view;                /* as it is now; free if it is gone */
    const struct view_contender *contender; /* NULL if the change is about the lock */
};

/* Returns the word for it. */
const char *list_change_word(enum change_kind kind);

/*
 * Calls take for every change between two lists, which are sorted by path: for contenders that went
 * before those that came.  With old NULL, calls it for all that is there at the beginning.  Stops
 * if take returns anything but 0, and returns that.  Takes back in now that a contender holds a
 * lock that it did not hold in old, if it is about to wait for one that vanished.
 */
int list_changes(const struct view *old, size_t old_len, struct view *now, size_t now_len,
                 int (*take)(const struct change *change, void *whose), void *whose);

#endif
