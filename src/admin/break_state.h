/*
 * The inside of --revoke and --break, shared by the files that make it up:
 *
 *     break.c          shows the holders, asks, and waits until all are dealt with
 *     break_holder.c   deals with each holder on its own, through the stages below
 *
 * If the znode was written meanwhile, or the connection lost, the stage is READING again.
 */
#ifndef ZKFLOCK_BREAK_STATE_H
#define ZKFLOCK_BREAK_STATE_H

#include "list/admin.h"
#include "list/describe.h"

enum stage {
    READING,  /* its znode and the parent: is it still the holder shown, and at which version */
    ACTING,   /* its znode is being written, or deleted, at these versions */
    WATCHING, /* --revoke: a watch is being set */
    AWAITED,  /* the watch is set */
    DONE,     /* it is gone; or the ensemble refused; or, with --revoke -n, it has been asked */
};

struct holder {
    const struct view_contender *shown;
    char who[DESCRIBE_SIZE];
    char *parent; /* the path of the znode that its own is in */
    int32_t parent_version;
    enum stage stage;
    bool again;      /* the answer was lost */
    bool asked;      /* --revoke: somebody else had asked it before */
    bool hit;        /* this process asked it, or deleted its znode, or may have */
    bool taken;      /* it is gone, by --break */
    int64_t left_at; /* when it was found gone, and not by --break; 0: it was not */
};

struct visit {
    const struct options *options;
    struct admin admin;
    bool by_force; /* --break */
    int terminal;
    struct view view;
    struct holder *holders;
    size_t len;
    int64_t began;
    int status; /* to exit with, once something went wrong */
};

/* ---- break_holder.c ---- */

/*
 * Reads the holders that are not done: all of them in a new session, which has no watches; else
 * those whose answer was lost.
 */
void break_holder_read(struct visit *visit, bool all);

/* Takes an event of the session.  If the ensemble refuses, sets the status after a message. */
void break_holder_handle(struct visit *visit, const struct session_event *event);

#endif
