/*
 * Reads locks from the ensemble, all at the same time, and follows their changes by watches if
 * asked.
 *
 *     survey_new(), survey_add() for each place
 *     for every event of the session: survey_handle()
 *     once survey_complete(): survey_views(), and again whenever survey_handle() says so
 *     survey_free()
 *
 * or, to read one lock once, survey_lock().  A znode that vanishes meanwhile is no error.  After a
 * lost connection the survey asks again, after an expired session it opens a new one.  One thread;
 * see session.h.
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
    SURVEY_TREE,  /* and all locks below it */
    SURVEY_NAMES, /* the same, but only the names of contenders are read */
};

/* With SESSION_SET_WATCH it follows changes.  The session has to live as long as the survey. */
struct survey *survey_new(struct session *session, enum session_watch watch);

/*
 * Begins to read what is at path, which may be "/".  A place that is asked for by name has a view
 * even if no lock is there, unless locks are below it.
 */
void survey_add(struct survey *survey, const char *path, enum survey_depth depth, bool by_name);

/* Takes an event of the session; it needs every one.  Returns true if views may have changed. */
bool survey_handle(struct survey *survey, const struct session_event *event);

/* Returns true if every request was answered. */
bool survey_complete(const struct survey *survey);

/* Returns the locks sorted by path, each once; to be given to survey_views_free(). */
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
