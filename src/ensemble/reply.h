/*
 * Whether what a server sends is whole: lengths, counts and order, before the client library takes
 * it apart.  The library believes them: it frees what it has not read when a reply is too short,
 * ends the process when one comes that nobody asked for or a multi has more results than parts,
 * and reads each result as one of the operation that it has asked for.
 */
#ifndef ZKFLOCK_REPLY_H
#define ZKFLOCK_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest frame that is taken, in bytes, without its length: a list of a million znodes. */
#define REPLY_MAX ((size_t)64 * 1024 * 1024)

/* The number of the request that brings credentials, and of its answer. */
enum { REPLY_XID_AUTH = -4 };

/* A request that waits for its reply. */
struct reply_due {
    int32_t xid;
    int32_t type;         /* ZooKeeper's number of the operation */
    unsigned char *parts; /* of a multi, the same of each of its operations; to be freed */
    size_t parts_len;
};

/*
 * Notes the operations of a multi, which are check, create, delete or set: len bytes behind the
 * request's type.  Of others none is noted, and no reply to the multi is sound.
 */
void reply_note_parts(struct reply_due *due, const unsigned char *request, size_t len);

/*
 * Returns true if this number is one of those that stand for a kind of message, not for a request:
 * such messages are answered, if at all, out of order.  The others are any numbers: the library
 * counts from the time of its start, which is negative in 32 bits from 2038 on.
 */
bool reply_is_apart(int32_t xid);

/*
 * Returns true if this is an answer to the first request of a connection; the length is not part of
 * the frame.  resumes: the request named a session, which may have expired.  The library believes
 * the session timeout, and with 0 ms, or weeks, it leaves servers that answer in time.
 */
bool reply_is_connect(const unsigned char *frame, size_t len, bool resumes);

/*
 * Returns whether this can be taken: a reply to the oldest request that waits, which is NULL if
 * none does, or what comes unasked.  Then *taken says whether that request waits no more.
 * authenticated: credentials were sent on this connection; no answer to them is taken before.
 */
bool reply_is_sound(const unsigned char *frame, size_t len, const struct reply_due *oldest,
                    bool authenticated, bool *taken);

#endif
