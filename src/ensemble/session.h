/*
 * A ZooKeeper session as one queue of events for one thread.
 *
 *     session_open()                        connects, in the background
 *     poll on session_fd(), then session_next_event() until it returns false
 *     session_get(), session_multi(), ...   ask; each answer is one SESSION_REPLY with the tag
 * given session_close()                       ends the session
 *
 * All calls are made by one thread, the owner's; the client library's two threads only fill the
 * queue.  Requests may be made before there is contact.  They are answered in the order in which
 * they were sent (ZooKeeper's FIFO order of a session), watch events come at any time.  A request
 * that cannot even be queued is answered like any other, with an error.
 *
 * The client library's own names (struct Stat, ZOO_* and Z* constants) are used for what is theirs.
 */
#ifndef ZKFLOCK_SESSION_H
#define ZKFLOCK_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zookeeper/zookeeper.h>

#include "ensemble/access.h"
#include "ensemble/servers.h"

struct session;

enum session_event_type {
    SESSION_CONNECTED,    /* the session is new, or goes on after a loss of contact */
    SESSION_DISCONNECTED, /* contact is lost; the library looks for another server */
    SESSION_EXPIRED,      /* the ensemble has ended the session; session_reopen() */
    SESSION_WATCH,        /* watch_type happened to the znode at path */
    SESSION_REPLY,        /* the answer to the request with this tag */
};

struct session_event {
    enum session_event_type type;

    /* SESSION_WATCH and, for a created znode, SESSION_REPLY; else NULL */
    const char *path;
    int watch_type; /* ZOO_DELETED_EVENT, ZOO_CHANGED_EVENT, ... */

    /* SESSION_REPLY */
    int tag;
    int rc;           /* ZOK, or one of ZOO_ERRORS; see session_rc_unknown() */
    int64_t sent;     /* when the request was handed over, see clock.h */
    int failed_op;    /* multi: the index of the operation that rc is of; else 0 */
    struct Stat stat; /* all but delete and sync, if rc is ZOK; multi: of its last set; times are
                         cut to the years 1970 to 9999, because a hostile server can send any */
    const char *data; /* get: data_len bytes and a NUL */
    size_t data_len;
    char *const *children; /* get_children: names without path */
    size_t children_len;
    const struct ACL_vector *acl; /* get_acl */
};

/* What a watcher is armed for. */
enum session_watch { SESSION_NO_WATCH, SESSION_SET_WATCH };

/*
 * Returns true if a request with this rc has to be made again once there is contact: contact was
 * lost before its answer, so that it may have been carried out or not, or the server is overloaded
 * and has not carried it out (ZTHROTTLEDOP).
 *
 * An overloaded server is spared for a moment: session_connected() is false then, and
 * SESSION_CONNECTED follows as after a loss of contact.  From then on requests are made one after
 * the other, and again by the session itself, see session_overloaded().
 */
bool session_rc_unknown(int rc);

/* The servers and the client of a session.  The pointers must be valid as long as the session. */
struct session_terms {
    const struct servers *servers; /* resolved */
    int timeout_ms;                /* the session timeout to ask for */
    const struct access *access;
    const struct ACL_vector *acl; /* of the znodes that it creates; NULL: all rights for all */
};

/*
 * Starts to connect.  Starts threads, which inherit the signal mask.  Returns NULL with errno set
 * if that cannot even be begun.
 */
struct session *session_open(const struct session_terms *terms);

/* What it takes to go on with a session in another process: a secret. */
struct session_identity {
    int64_t id; /* 0: there is none */
    char password[16];
};

/* The session's identity, once there was contact. */
struct session_identity session_identity(const struct session *session);

/* Opens the session of a process that has died, which may have expired, or will as any other. */
struct session *session_resume(const struct session_terms *terms,
                               const struct session_identity *identity);

/*
 * Begins a new session in the place of one that expired.  Requests under way are never answered,
 * watches are gone, and what the last event pointed to stays until the next one is taken.
 */
void session_reopen(struct session *session);

/* A descriptor that is readable when session_next_event() has something. */
int session_fd(const struct session *session);

/*
 * Takes the next event.  Returns false if there is none now.  What the event points to lives until
 * the next call.
 */
bool session_next_event(struct session *session, struct session_event *event);

/*
 * Does what is due by the clock: turns to another server when one does not answer, sends a
 * companion to a request that waits for its answer (see session.c).  Returns when to call again.
 */
int64_t session_tick(struct session *session);

/*
 * How long a request may go without an answer before the session moves to another server, ns.  The
 * library itself would wait for two thirds of the session timeout.
 */
void session_set_patience(struct session *session, int64_t patience);

/*
 * Whether the session, once it has lost contact, rests between its attempts to connect, see pace.h.
 * At first it does not.  Not for who has a lock: its lease runs out meanwhile.
 */
void session_set_pacing(struct session *session, bool paced);

/*
 * Turns to another server: this one is not to be trusted.  SESSION_CONNECTED follows in any case,
 * at the same server if it cannot be left.
 */
void session_turn(struct session *session);

/* Why the ensemble refuses this client. */
enum session_refusal {
    SESSION_NOT_REFUSED,
    SESSION_WANTS_CREDENTIALS,   /* it serves only clients that authenticate (enforce.auth, -124) */
    SESSION_REFUSES_CREDENTIALS, /* it refuses those that were sent (-115) */
};

/*
 * Any refusal is final: the request that heard of it is never answered, and the session is over.
 */
enum session_refusal session_refused(const struct session *session);

/* Returns true if the client has credentials: an ACL can then name it (the scheme auth). */
bool session_has_credentials(const struct session *session);

/* The ACL of the znodes that the session creates. */
const struct ACL_vector *session_acl(const struct session *session);

/*
 * Returns true if the server refused requests for lack of capacity (ZTHROTTLEDOP) in the last
 * seconds.  Requests are then made one after the other, each until it is carried out.
 */
bool session_overloaded(const struct session *session);

/* Tells sessions that follow one another apart: requests of an earlier one are never answered. */
unsigned int session_generation(const struct session *session);

/* Returns true if there is contact, as far as is known; and if not, since when there is none. */
bool session_connected(const struct session *session);
int64_t session_disconnected_since(const struct session *session);

/* The session timeout that was agreed on, in ms; the one asked for until there was contact. */
int session_timeout_ms(const struct session *session);

/* The session's id; 0 until there was contact. */
int64_t session_id(const struct session *session);

/* Returns true if a session exists, even if its event has not been handed out yet. */
bool session_alive(const struct session *session);

/*
 * Unless a session exists, keeps queued requests from going out any more, although the library may
 * make a session at any moment.  Returns true if a session exists that can be used.
 */
bool session_withhold(struct session *session);

/* Why session_open() failed, by its errno. */
const char *session_start_fault(int error);

/*
 * Requests.  What they are given is copied; mode is one of the library's, ZOO_PERSISTENT and so on;
 * acl NULL is the session's.
 */
void session_create(struct session *session, int tag, const char *path, const char *data, int mode,
                    const struct ACL_vector *acl);
void session_get(struct session *session, int tag, const char *path, enum session_watch watch);
void session_get_children(struct session *session, int tag, const char *path,
                          enum session_watch watch);
void session_get_acl(struct session *session, int tag, const char *path);
void session_exists(struct session *session, int tag, const char *path);
/* Asks the same and sets a watch, which fires when the znode is made, changed or deleted. */
void session_await(struct session *session, int tag, const char *path);

/* Only if the znode's version is this one; -1: whatever it is. */
void session_set(struct session *session, int tag, const char *path, const char *data,
                 int32_t version);

void session_delete(struct session *session, int tag, const char *path);
void session_sync(struct session *session, int tag, const char *path);

/* Answered with a loss of contact while there is none. */
void session_multi(struct session *session, int tag, zoo_op_t *ops, int count);

/*
 * Ends the session, which deletes its ephemeral znodes, and frees it.  With requests under way the
 * server may never hear of it; then the session lives on until its timeout.  Takes 1.5 s at the
 * most when the server does not answer (5 s if even sending blocks).  NULL is allowed.
 */
void session_close(struct session *session);

/*
 * Frees the session like session_close(), but without ending it, so without waiting for the server.
 * Returns a descriptor of its connection, for close_request_send().  Returns -1 and ends the
 * session if there is no contact, an answer is due, or no descriptor is free.
 */
int session_detach(struct session *session);

#endif
