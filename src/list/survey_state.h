/*
 * The inside of struct survey, for survey.c, which asks and takes answers, survey_tree.c, the
 * znodes that are known, and survey_views.c, what they come to.
 */
#ifndef ZKFLOCK_SURVEY_STATE_H
#define ZKFLOCK_SURVEY_STATE_H

#include "list/survey.h"
#include "lock/record.h"

/* Of more than this nothing is read: some ensembles hold a database, and some servers lie. */
enum { SURVEY_MAX = 100000 };

enum ask { ASK_LIST, ASK_GET, ASK_AWAIT, ASKS };

/* What a place to begin with is there for. */
enum survey_role {
    ROLE_PLACE,
    ROLE_ASKED,  /* the same, and asked for by name */
    ROLE_BESIDE, /* to know more of one of these, and not shown */
};

struct znode {
    char *path;
    const char *name; /* the last part of path */
    struct znode *parent;
    enum survey_depth depth;
    bool contender;
    bool is_note;         /* of --once-per, for the lock beside it */
    size_t slot;          /* in the survey's table */
    unsigned int pending; /* requests without an answer */
    bool again[ASKS];     /* the answer was lost, and contact with it */
    bool dropped;         /* not in the tree any more; freed when its last answer is in */

    int list_rc; /* ZNONODE until the first answer */
    int get_rc;
    struct Stat stat;
    char data[RECORD_SIZE]; /* the beginning, enough for a record */
    size_t data_len;        /* of all of it */
    struct contender *told; /* contender; NULL: not read */

    struct znode **children; /* by name */
    size_t len;
};

struct survey {
    struct session *session;
    enum session_watch watch;
    struct znode **roots;
    enum survey_role *roles; /* of the roots */
    size_t roots_len;
    struct znode **slots; /* all znodes, NULL where none is; a tag tells the slot */
    size_t slots_len;
    size_t slot_hint; /* no free slot is below it */
    size_t len;       /* of all znodes */
    bool cut;         /* there are more */
    size_t pending;   /* of all znodes */
};

/*
 * The semaphore that the root with this index is a part of, where that was asked for by name; else
 * NULL.  In survey_views.c.
 */
const struct znode *survey_semaphore_around(const struct survey *survey, size_t root);

/* Whether its data is all there is to it. */
static inline bool survey_is_leaf(const struct znode *znode)
{
    return znode->contender || znode->is_note;
}

/* ---- survey_tree.c ---- */

/* A znode that nothing is known of yet; below parent, or a root where that is NULL. */
struct znode *tree_new(struct survey *survey, struct znode *parent, const char *path,
                       enum survey_depth depth);

/* Takes it and all below it out of the tree. */
void tree_drop(struct survey *survey, struct znode *znode);

/* Frees one that was dropped, once nothing is under way for it. */
void tree_free_dropped(struct survey *survey, struct znode *znode);

/*
 * Makes the children those of these names that are of interest.  Calls unknown for each one that
 * has to be read; returns whether any came or went.
 */
bool tree_set_children(struct survey *survey, struct znode *znode, char *const *names, size_t len,
                       void (*unknown)(struct survey *survey, struct znode *child));

/* The child of that name, or NULL. */
struct znode *tree_child(const struct znode *znode, const char *name);

/* The znode at path below this root, or NULL. */
struct znode *tree_find(struct znode *root, const char *path);

#endif
