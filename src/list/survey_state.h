/*
 * The inside of struct survey, shared by survey.c, which asks and takes answers, survey_tree.c,
 * which keeps the znodes, and survey_views.c, which makes views of them.
 */
#ifndef ZKFLOCK_SURVEY_STATE_H
#define ZKFLOCK_SURVEY_STATE_H

#include "list/survey.h"
#include "lock/record.h"

/* Reads no more znodes: some ensembles hold a database, and some servers lie. */
enum { SURVEY_MAX = 100000 };

enum ask { ASK_LIST, ASK_GET, ASK_AWAIT, ASKS };

/* Why a znode is read. */
enum survey_role {
    ROLE_PLACE,  /* of a root: a place; of others: they are below one */
    ROLE_ASKED,  /* a place that was asked for by name */
    ROLE_BESIDE, /* to know more of such a place; not shown */
};

struct znode {
    char *path;
    const char *name; /* the last part of path */
    struct znode *parent;
    enum survey_depth depth;
    enum survey_role role;
    bool contender;
    bool is_note;         /* the note of --once-per, for the lock beside it */
    size_t slot;          /* in the survey's table */
    unsigned int pending; /* requests without an answer */
    bool owed[ASKS];      /* to be asked: the answer was lost, or too much was under way */
    bool dropped;         /* out of the tree; freed after its last answer */

    int list_rc; /* ZNONODE until the first answer */
    int get_rc;
    struct Stat stat;
    char data[RECORD_SIZE]; /* the first bytes, enough for a record */
    size_t data_len;        /* of all the data */
    struct contender *told; /* contender; NULL: not read */

    struct znode **children; /* by name */
    size_t len;
};

struct survey {
    struct session *session;
    enum session_watch watch;
    struct znode **roots;
    size_t roots_len;
    struct znode **slots; /* all znodes, with gaps; a request's tag names the slot */
    size_t slots_len;
    size_t slot_hint; /* all slots below it are taken */
    size_t len;       /* of all znodes */
    bool cut;         /* some znodes were not read */
    size_t pending;   /* of all znodes */
    size_t owed;      /* of all znodes */
    size_t slot_owed; /* where ask_more() goes on */
};

/* Returns true if only its data is read, no children. */
static inline bool survey_is_leaf(const struct znode *znode)
{
    return znode->contender || znode->is_note;
}

/* ---- survey_tree.c ---- */

/* Returns a znode that was not read yet: below parent, or a root if that is NULL.  Takes path. */
struct znode *tree_new(struct survey *survey, struct znode *parent, char *path,
                       enum survey_depth depth);

/* Nothing is to be asked of it any more. */
void tree_owe_nothing(struct survey *survey, struct znode *znode);

/* Takes it and all znodes below it out of the tree. */
void tree_drop(struct survey *survey, struct znode *znode);

/* Frees it alone: no answer is on its way. */
void tree_free(struct survey *survey, struct znode *znode);

/*
 * Sets the children to the znodes with these names, as far as they are of interest.  Calls unknown
 * for each that has to be read; returns true if any came or went.
 */
bool tree_set_children(struct survey *survey, struct znode *znode, char *const *names, size_t len,
                       void (*unknown)(struct survey *survey, struct znode *child));

/* Returns the child with that name, or NULL. */
struct znode *tree_child(const struct znode *znode, const char *name);

/* Returns the znode at path, at or below this root, or NULL. */
struct znode *tree_find(struct znode *root, const char *path);

/* ---- survey_views.c ---- */

/* Returns the semaphore of which this root, if it was asked for by name, is a part; else NULL. */
const struct znode *survey_semaphore_around(const struct survey *survey, const struct znode *root);

#endif
