/*
 * Why no server could be used last, for messages.  Any thread may call these functions.
 */
#ifndef ZKFLOCK_TROUBLE_H
#define ZKFLOCK_TROUBLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Room for what trouble_last() writes. */
#define TROUBLE_SIZE 256

/* What a server says by closing a connection: how it refuses a client.  Follows its name. */
#define TROUBLE_CLOSED                                                                             \
    "closed the connection, as one does that has no majority, is read-only or full "               \
    "(maxClientCnxns)"

enum trouble_kind {
    TROUBLE_NONE,
    TROUBLE_NO_CONTACT, /* as from any server that is down, full or cut off */
    TROUBLE_FAULT,      /* of a server that is there, or of TLS with it */
    TROUBLE_LOCAL,      /* of this process: it lacks descriptors, memory, threads or /proc */
};

/* Whether it tells more than that a server is not there. */
static inline bool trouble_is_exact(enum trouble_kind kind)
{
    return kind == TROUBLE_FAULT || kind == TROUBLE_LOCAL;
}

struct trouble {
    pthread_mutex_t mutex; /* of all that follows */
    bool relayed;          /* the relay, not the library's log, tells how each connection ends */
    enum trouble_kind kind;
    char text[TROUBLE_SIZE - 2];
    int64_t noted; /* when */
    enum {
        TROUBLE_END_OF_SERVER,  /* the next end of a connection is the server's doing */
        TROUBLE_END_OF_SILENCE, /* this process ends it, because the server does not answer */
        TROUBLE_END_TOLD,       /* this process ends it, and the reason stands in text */
    } next_end;
    bool timed_out; /* the library is leaving a server, because it does not answer */
};

void trouble_init(struct trouble *trouble, bool relayed);
void trouble_destroy(struct trouble *trouble);

/*
 * The next handle of the library is about to connect: none of its connections has ended.  Its log
 * goes here from now on; by its own callback, because that has no context.
 */
void trouble_begin(struct trouble *trouble);
void trouble_on_log(const char *message);

/* Notes why a server, or none, can be used: text, without a full stop, the server's address first.
 */
void trouble_note(struct trouble *trouble, enum trouble_kind kind, const char *text);

/*
 * This process is about to end the connection, perhaps because of silence.  Returns whether that is
 * so: not if there was other trouble just before.  trouble_not_cut(): there was no connection.
 */
bool trouble_cut(struct trouble *trouble, bool silence);
void trouble_not_cut(struct trouble *trouble);

/*
 * For the relay, whose connection the library has left: returns whether that was because the server
 * did not answer, the first time that it is asked after that.
 */
bool trouble_take_timeout(struct trouble *trouble);

/* Forgets all trouble, because a server could be used. */
void trouble_forget(struct trouble *trouble);

/* Writes the reason as the end of a clause (": Connection refused"), "" if there is none. */
enum trouble_kind trouble_last(struct trouble *trouble, char text[TROUBLE_SIZE]);

#endif
