/*
 * Locks read from the ensemble, all at the same time, and followed by watches if need be.
 *
 *     survey_new(), survey_add() for each place
 *     for every event of the session: survey_handle()
 *     once survey_complete(): survey_views(), and again whenever survey_handle() says so
 *     survey_free()
 *
 * or, for one lock and once, survey_lock().  What vanishes meanwhile is no error.  A loss of
 * contact is gone over when there is contact again, an expired session is replaced by a new one.
 * One thread; see session.h.
 */
#ifndef ZKFLOCK_SURVEY_H
#define ZKFLOCK_SURVEY_H

#include <stdbool.h>
#include <stddef.h>

#include "ensemble/session.h"
#include "list/admin.h"
#include "list/view.h"

struct survey;

enum survey_depth {
    SURVEY_LOCK,  /* the lock at this path alone */
    SURVEY_TREE,  /* and all that are below it */
    SURVEY_NAMES, /* the same, but of contenders nothing is read beside their names */
};

/* With SESSION_SET_WATCH it follows what changes.  The session has to live as long. */
struct survey *survey_new(struct session *session, enum session_watch watch);

/*
 * Begins to read what is at path, "/" included.  A place that is asked for by name has a view even
 * if there is no lock, unless there are locks below it.
 */
void survey_add(struct survey *survey, const char *path, enum survey_depth depth, bool by_name);

/* Takes an event of the session, every one of them.  Returns whether views may be others now. */
bool survey_handle(struct survey *survey, const struct session_event *event);

/* Whether everything was read, and nothing that was asked is unanswered. */
bool survey_complete(const struct survey *survey);

/* The locks in the order of their paths, each once; to be given to survey_views_free(). */
struct view *survey_views(const struct survey *survey, size_t *count);
void survey_views_free(struct view *views, size_t count);

/* NULL is allowed. */
void survey_free(struct survey *survey);

/*
 * Waits until it is complete.  Returns 0, or the exit status after a message: also if a part of a
 * semaphore was asked for by name.
 */
int survey_read(struct survey *survey, struct admin *admin);

/*
 * Reads the lock at path once.  Returns 0, or the exit status after a message: also if a part of
 * the lock could not be read.  If it is 0, *view is to be given to view_release().
 */
int survey_lock(struct admin *admin, const char *path, struct view *view);

/* Returns 0; if a part of the lock could not be read, the exit status after a message. */
int survey_unread(const struct view *view);

#endif
