/*
 * Checks lengths, counts and order of what a server sends, before the client library parses it.
 * The library trusts them.  It frees memory that it has not set when a reply is too short.  It ends
 * the process when a reply comes that it has not asked for, or a multi has more results than parts.
 * It reads each result as one of the operation that it has asked for.
 */
#ifndef ZKFLOCK_REPLY_H
#define ZKFLOCK_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The longest frame that is accepted, in bytes, without its length: a list of 1.2 million
 * contenders with Curator's names.
 */
#define REPLY_MAX ((size_t)64 * 1024 * 1024)

/* The xid of a request with credentials, and of its answer. */
enum { REPLY_XID_AUTH = -4 };

/* A request that waits for its reply. */
struct reply_due {
    int32_t xid;
    int32_t type;         /* ZooKeeper's number of the operation */
    unsigned char *parts; /* of a multi: the number of each of its operations; to be freed */
    size_t parts_len;
};

/*
 * Notes the operations of a multi in due; request is what follows the request's type, len bytes.
 * Knows check, create, delete and set.  A multi with another operation gets no parts, and no reply
 * to it is sound.
 */
void reply_note_parts(struct reply_due *due, const unsigned char *request, size_t len);

/*
 * Returns true if this xid stands for a kind of message instead of one request.  Such messages are
 * answered out of order, if at all.  The xid of a request can be any other number: the library
 * counts from the time of its start, which is negative in 32 bits from 2038 on.
 */
bool reply_is_apart(int32_t xid);

/*
 * Returns true if this frame, without its length, is a sound answer to the first request of a
 * connection.  resumes: the request named a session, which may have expired.  The library trusts
 * the session timeout; with 0 ms, or weeks, it would leave servers that answer in time.
 */
bool reply_is_connect(const unsigned char *frame, size_t len, bool resumes);

/*
 * Returns true if this frame is sound: a reply to the oldest request that waits, which is NULL if
 * none does, or a message that may come unasked.  Sets *taken if it is the reply to that request,
 * which then waits no more.  authenticated: credentials were sent on this connection; before that
 * no answer to them is sound.
 */
bool reply_is_sound(const unsigned char *frame, size_t len, const struct reply_due *oldest,
                    bool authenticated, bool *taken);

#endif
