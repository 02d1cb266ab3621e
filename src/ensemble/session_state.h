/*
 * The inside of struct session: session.c keeps the session alive, session_ask.c takes what the
 * owner asks for, request.c gives that to the library and queues what comes back, session_event.c
 * hands it to the owner.
 */
#ifndef ZKFLOCK_SESSION_STATE_H
#define ZKFLOCK_SESSION_STATE_H

#include <pthread.h>

#include "base/clock.h"
#include "ensemble/failover.h"
#include "ensemble/pace.h"
#include "ensemble/relay.h"
#include "ensemble/session.h"
#include "ensemble/trouble.h"

/* A server that has refused a request for lack of capacity counts as overloaded for so long. */
#define SESSION_RECOVERED_AFTER (5 * CLOCK_S)

/* What a request asks for. */
struct ask {
    enum {
        ASK_CREATE,
        ASK_GET,
        ASK_CHILDREN,
        ASK_EXISTS,
        ASK_SET,
        ASK_DELETE,
        ASK_SYNC,
        ASK_MULTI,
        ASK_ACL,
    } what;
    const char *path;
    const char *data;
    int number;                   /* create: the mode; set: the version */
    const struct ACL_vector *acl; /* create */
    enum session_watch watch;
    zoo_op_t *ops;
    int ops_len;
};

/*
 * What came from the library: filled by its completion thread, then only touched by the owner.
 * A request is one of these from the start; its reply is filled in.
 */
struct item {
    struct item *next;          /* in the queue */
    struct item *older, *newer; /* requests under way; the owner's */
    struct session *session;
    struct session_event event;
    char *path;
    char *data;
    char **children;
    struct ACL_vector *acl;
    zoo_op_result_t *results;
    int results_len;
    struct ask *ask; /* of a request to an overloaded server, which is asked again; else NULL */
    bool waiting;    /* by ask_set_waiting(): it is to be asked when those before it are answered */
    int64_t handed_over; /* to the library, the last time */
};

struct session {
    zhandle_t *handle;
    struct session_terms terms;
    struct relay *relay; /* by which the handle connects; NULL: directly */
    int event_fd;

    pthread_mutex_t mutex; /* of the queue */
    struct item *head, **tail;
    struct trouble trouble;
    _Atomic int64_t unmade; /* ID that a handle may have without having made a session */

    /* the owner's */
    struct item *current; /* the event handed out last */
    bool had_long_list;   /* the one before it had */
    struct item *oldest, *newest;
    bool connected;
    int64_t disconnected_since;
    unsigned int attempt;
    bool established;             /* there was contact, so the library keeps the session */
    bool stuck;                   /* a handle could not be closed: nothing goes on from here */
    enum session_refusal refused; /* see session_refused() */
    unsigned int generation;
    int64_t resume_at;     /* while the server is spared: until when; else 0 */
    int64_t spared_until;  /* the last time */
    int64_t pause;         /* for so long */
    size_t waiting_len;    /* requests that are to be asked when those before them are answered */
    int64_t overloaded_at; /* when a request was last refused for lack of capacity; 0: never */
    int64_t attempt_until; /* when to turn to another server */
    char turned_from[80]; /* HOST:PORT, by session_turn(), until there is another one; else empty */
    unsigned int turns;   /* how often the library came back to that one */
    int64_t last_companion;
    struct session_identity resumed; /* the session to go on with; id 0: none */
    struct failover failover;
    struct pace pace;
    bool paced; /* see session_set_pacing() */
};

/* Notes a loss of contact, perhaps before the event of it. */
void session_note_disconnected(struct session *session);

/* Copy and free an ask with all that it points to; NULL may be freed. */
struct ask *ask_copy(const struct ask *ask);
void ask_free(struct ask *ask);

/* Sets whether the request waits, and keeps count. */
void ask_set_waiting(struct item *item, bool waiting);

/* An empty event; item_push() hands it over to the owner.  Any thread. */
struct item *item_new(struct session *session, enum session_event_type type);
void item_push(struct item *item);

/* The oldest event that was pushed, now the caller's; NULL if there is none. */
struct item *item_pop(struct session *session);

/*
 * Forgets events that were pushed by a handle that is closed.  replies: those of requests, too,
 * which remain under way; else they stay in the queue.
 */
void item_drop_events(struct session *session, bool replies);

/* NULL is allowed. */
void item_free(struct item *item);

/* Wakes the owner, who is to call session_next_event().  Any thread. */
void item_wake(struct session *session);

/* ---- request.c ---- */

/* Makes a request, the newest of those under way. */
struct item *request_new(struct session *session, int tag);

/* Gives it to the library. */
void request_hand_over(struct item *item, const struct ask *ask);

bool request_is_companion(const struct item *item);

/* Takes an answered request off the list of those under way; returns whether it was a user's. */
bool request_done(struct session *session, struct item *item);

/*
 * Sends a companion to a request that has waited too long for its answer; returns when to call
 * again, CLOCK_NEVER while no request is under way.
 */
int64_t request_accompany(struct session *session);

/*
 * Forget all requests under way, or answer them with ZSESSIONEXPIRED.  Only when the library's
 * threads have ended.
 */
void request_drop_all(struct session *session);
void request_fail_all(struct session *session);

/* ---- session_ask.c: asking an overloaded server for one thing after the other ---- */

/* Hands over the next request that waits, unless the server is being spared or has one. */
void ask_next(struct session *session);

/* ---- session_event.c ---- */

/* Leaves an overloaded server alone for a moment; SESSION_CONNECTED follows. */
void session_spare(struct session *session);

#endif
