/*
 * One request at a time, each the answer to the one before:
 *
 *   READ  -> TOUCH          the note, or that there is none
 *   TOUCH -> LOOK           the same bytes were written again, or the first ones
 *         -> READ           somebody wrote or deleted it in between
 *   LOOK  -> DUE | RECENT   the Stat of that write: its time is the ensemble's now
 *   DUE   -> NOTE           the command has succeeded                [once_note_success]
 *   NOTE  -> NOTED          the note tells of this run
 *         -> CHECK          the answer was lost, or the note is another version
 *   CHECK -> NOTED | NOTE   it was written after all, or nothing was
 *
 * A request whose answer was lost is sent again once there is contact; instead of TOUCH, READ.
 *
 * What holds:
 *   - Both writes are transactions that check the own znode: without the lock nothing is written.
 *   - NOTE names the version that TOUCH made, and every holder touches before its command starts.
 *     So whatever the own znode is called, a late NOTE never overwrites what a later holder saw.
 *   - A caller that is told DUE may write the note: TOUCH has just done so.
 */
#include "keeper/once.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "ensemble/fault.h"
#include "lock/note.h"

enum once_step { STEP_NONE, STEP_READ, STEP_TOUCH, STEP_LOOK, STEP_NOTE, STEP_CHECK };

/* The operations of both transactions. */
enum { OP_CHECK_OWN, OP_WRITE, OPS };

struct once {
    struct session *session;
    int tag;
    char *path; /* of the note */
    char *node; /* the own one */
    int64_t period;
    int64_t started_at; /* when the caller began to wait for the lock, by the own clock */

    enum once_phase phase;
    enum once_step step; /* under way */
    bool retry;          /* its answer was lost: again once there is contact */
    bool exists;
    int32_t version; /* of the note: as read, then as touched */
    int64_t last;    /* when the last success began, ms */
    int64_t now;     /* the time of TOUCH, ms: when the own run began */
    int64_t ago;     /* ms */

    enum exitcode failure;
    char *failure_text;
};

/* text: this one's from now on. */
static void fail(struct once *once, enum exitcode code, char *text)
{
    once->step = STEP_NONE;
    once->phase = ONCE_FAILED;
    once->failure = code;
    xreplace(&once->failure_text, text);
}

static void fail_rc(struct once *once, int rc, const char *what, const char *path)
{
    char *sentence = fault_sentence(rc, what, path);

    fail(once, fault_status(rc), xasprintf("the note of --once-per: %s", sentence));
    free(sentence);
}

/* ---- requests ---- */

/* Writes the note, if the own znode and the note are as they were. */
static void write_note(struct once *once, int64_t began)
{
    zoo_op_t ops[OPS];
    char text[NOTE_SIZE];
    int len = (int)note_encode(began, text);

    zoo_check_op_init(&ops[OP_CHECK_OWN], once->node, -1);
    if (once->exists)
        zoo_set_op_init(&ops[OP_WRITE], once->path, text, len, once->version, NULL);
    else
        zoo_create_op_init(&ops[OP_WRITE], once->path, text, len, session_acl(once->session),
                           ZOO_PERSISTENT, NULL, 0);
    session_multi(once->session, once->tag, ops, OPS);
}

static void take(struct once *once, enum once_step step)
{
    once->step = step;
    if (step == STEP_TOUCH)
        write_note(once, once->last);
    else if (step == STEP_NOTE)
        write_note(once, once->now);
    else
        session_get(once->session, once->tag, once->path, SESSION_NO_WATCH);
}

static void retry(struct once *once)
{
    once->retry = false;
    if (once->step == STEP_TOUCH)
        take(once, STEP_READ);
    else
        take(once, once->step == STEP_NOTE ? STEP_CHECK : once->step);
}

/* ---- answers ---- */

static void note_was_read(struct once *once, const struct session_event *event)
{
    once->exists = event->rc == ZOK;
    once->last = NOTE_NEVER;
    if (event->rc != ZOK && event->rc != ZNONODE) {
        fail_rc(once, event->rc, "read", once->path);
        return;
    }
    /*
     * Refused, as a lock whose znode holds something else is: to write over it would destroy what
     * is another program's, or a later version's, and to run without a note would be to run on
     * every host.
     */
    if (once->exists && !note_decode(event->data, event->data_len, &once->last)) {
        fail(once, EXITCODE_CONFIG,
             xasprintf("%s holds data that is no note of --once-per's; delete it if nobody "
                       "needs it, or choose another LOCK",
                       once->path));
        return;
    }
    once->version = event->stat.version;
    take(once, STEP_TOUCH);
}

/* Returns whether a write failed for a reason that does not depend on the note's version. */
static bool cannot_write(struct once *once, const struct session_event *event)
{
    int rc = event->rc;

    if (rc == ZNONODE && event->failed_op == OP_CHECK_OWN)
        fail(once, EXITCODE_LOST,
             xasprintf("the znode %s was deleted, by --break or another client", once->node));
    else if (rc == ZBADVERSION || rc == (once->exists ? ZNONODE : ZNODEEXISTS))
        return false;
    else if (event->failed_op == OP_CHECK_OWN)
        fail_rc(once, rc, "check", once->node);
    else
        fail_rc(once, rc, once->exists ? "write to" : "create", once->path);
    return true;
}

static void touched(struct once *once, const struct session_event *event)
{
    if (event->rc != ZOK) {
        if (!cannot_write(once, event))
            take(once, STEP_READ);
        return;
    }
    once->version = once->exists ? once->version + 1 : 0;
    once->exists = true;
    take(once, STEP_LOOK);
}

static void judge(struct once *once, const struct session_event *event)
{
    if (event->rc == ZNONODE || (event->rc == ZOK && event->stat.version != once->version)) {
        take(once, STEP_READ);
        return;
    }
    if (event->rc != ZOK) {
        fail_rc(once, event->rc, "read", once->path);
        return;
    }
    once->step = STEP_NONE;
    once->now = event->stat.mtime;
    once->phase = note_judge(once->last, once->now, (event->sent - once->started_at) / CLOCK_MS,
                             once->period / CLOCK_MS, &once->ago) == NOTE_RECENT
                      ? ONCE_RECENT
                      : ONCE_DUE;
}

static void noted(struct once *once)
{
    once->step = STEP_NONE;
    once->phase = ONCE_NOTED;
}

static void note_was_written(struct once *once, const struct session_event *event)
{
    if (event->rc == ZOK)
        noted(once);
    else if (!cannot_write(once, event))
        take(once, STEP_CHECK);
}

static void note_was_checked(struct once *once, const struct session_event *event)
{
    char text[NOTE_SIZE];
    size_t len = note_encode(once->now, text);

    if (event->rc == ZOK && event->data_len == len && memcmp(event->data, text, len) == 0)
        noted(once);
    else if (event->rc == ZOK && event->stat.version == once->version)
        take(once, STEP_NOTE);
    else if (event->rc == ZOK || event->rc == ZNONODE)
        fail(once, EXITCODE_LOST, xasprintf("%s was changed by somebody", once->path));
    else
        fail_rc(once, event->rc, "read", once->path);
}

static void answered(struct once *once, const struct session_event *event)
{
    switch (once->step) {
    case STEP_NONE:
        break;
    case STEP_READ:
        note_was_read(once, event);
        break;
    case STEP_TOUCH:
        touched(once, event);
        break;
    case STEP_LOOK:
        judge(once, event);
        break;
    case STEP_NOTE:
        note_was_written(once, event);
        break;
    case STEP_CHECK:
        note_was_checked(once, event);
        break;
    }
}

void once_handle(struct once *once, const struct session_event *event)
{
    if (event->type == SESSION_CONNECTED && once->retry) {
        retry(once);
    } else if (event->type == SESSION_REPLY && event->tag == once->tag) {
        if (!session_rc_unknown(event->rc)) {
            answered(once, event);
            return;
        }
        once->retry = true;
        if (session_connected(once->session))
            retry(once);
    }
}

/* ---- the caller's ---- */

struct once *once_new(struct session *session, int tag, const char *lock, const char *node,
                      int64_t period, int64_t started_at)
{
    struct once *once = xcalloc(1, sizeof(*once));

    once->session = session;
    once->tag = tag;
    once->path = note_path(lock);
    once->node = xstrdup(node);
    once->period = period;
    once->started_at = started_at;
    once->phase = ONCE_ASKING;
    take(once, STEP_READ);
    return once;
}

enum once_phase once_phase(const struct once *once)
{
    return once->phase;
}

int64_t once_ago(const struct once *once)
{
    int64_t ago;

    if (__builtin_mul_overflow(once->ago, CLOCK_MS, &ago))
        return once->ago < 0 ? -CLOCK_NEVER : CLOCK_NEVER;
    return ago;
}

void once_note_success(struct once *once)
{
    once->phase = ONCE_NOTING;
    take(once, STEP_NOTE);
}

enum exitcode once_failure(const struct once *once, const char **message)
{
    *message = once->failure_text;
    return once->failure;
}

void once_free(struct once *once)
{
    if (!once)
        return;
    free(once->path);
    free(once->node);
    free(once->failure_text);
    free(once);
}
