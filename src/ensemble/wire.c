/*
 * The layer between the client library and the kernel: it checks what a server sends, by reply.h,
 * before the library gets it.  The linker replaces connect(2), recv(2), send(2) and close(2) by
 * these functions in all code that is linked statically (see the Makefile; ld(1), --wrap).  A
 * library that is linked dynamically is not checked.
 *
 * The library reads the length of a frame and then its content.  It gets a frame only when the
 * whole frame has come and is sound.  If a frame is not sound, recv(2) fails with EBADMSG.
 *
 * No thread holds the mutex while a call waits: the sockets of sessions do not block.
 */
#include "ensemble/wire.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <zookeeper/proto.h>

#include "base/xalloc.h"
#include "ensemble/reply.h"

/* Connections with a descriptor of this number or more are refused. */
enum { LINES = 65536 };

enum {
    LENGTH_LEN = 4,
    BEGINNING_LEN = LENGTH_LEN + 8, /* with xid and type */
    SESSION_AT = LENGTH_LEN + 16,   /* in the first request: behind version, zxid and timeout */
    SESSION_LEN = 8,
    GREETING_LEN = SESSION_AT + SESSION_LEN,
};

/* The buffer that a line keeps between frames, in bytes. */
#define ROOM_KEPT ((size_t)16 * 1024)

/* A connection of the library. */
struct line {
    /* What it sends. */
    unsigned char beginning[GREETING_LEN]; /* of the frame under way */
    size_t beginning_len;
    size_t left;        /* bytes of that frame that are to follow */
    bool greeted;       /* the first request has been sent, which has neither xid nor type */
    bool resumes;       /* that one named a session */
    bool authenticated; /* credentials have been sent */
    struct reply_due *due;
    size_t due_begin;
    size_t due_end;
    size_t due_room;

    /* What it is sent. */
    unsigned char *frame; /* with its length in front */
    size_t room;
    size_t have;
    size_t given; /* to the library, of a frame that is sound */
    bool sound;
    bool failed;   /* a frame was not sound, so the rest is refused */
    bool answered; /* the first reply has come */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* of new connections */
static struct line *_Atomic lines[LINES];
static _Atomic pid_t owner; /* the process that connects */

/* The linker's names. */
int __real_connect(int fd, const struct sockaddr *address, socklen_t len);
ssize_t __real_recv(int fd, void *bytes, size_t len, int flags);
ssize_t __real_send(int fd, const void *bytes, size_t len, int flags);
int __real_close(int fd);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len);
ssize_t __wrap_recv(int fd, void *bytes, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t len, int flags);
int __wrap_close(int fd);

static size_t number_at(const unsigned char *at)
{
    return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

static struct line *line_of(int fd)
{
    return fd >= 0 && fd < LINES ? lines[fd] : NULL;
}

static void forget(int fd)
{
    struct line *line = line_of(fd);

    if (!line)
        return;
    lines[fd] = NULL;
    for (size_t i = line->due_begin; i < line->due_end; i++)
        free(line->due[i].parts);
    free(line->due);
    free(line->frame);
    free(line);
}

bool wire_may_be_of_library(int fd)
{
    return !owner || line_of(fd);
}

/* ---- what the library sends ---- */

/* Notes a request.  rest: what follows its type, len bytes; the library sends a request at once. */
static void note_request(struct line *line, const unsigned char *rest, size_t len)
{
    struct reply_due due = {.xid = (int32_t)number_at(line->beginning + LENGTH_LEN),
                            .type = (int32_t)number_at(line->beginning + LENGTH_LEN + 4)};

    line->authenticated |= due.xid == REPLY_XID_AUTH;
    if (reply_is_apart(due.xid))
        return;
    if (due.type == ZOO_MULTI_OP)
        reply_note_parts(&due, rest, len);
    /* Moves the rest only when half of it is free: many may be due. */
    if (line->due_begin > 0 && line->due_begin >= line->due_end / 2 &&
        line->due_end == line->due_room) {
        memmove(line->due, line->due + line->due_begin,
                (line->due_end - line->due_begin) * sizeof(line->due[0]));
        line->due_end -= line->due_begin;
        line->due_begin = 0;
    }
    if (line->due_end == line->due_room) {
        line->due_room = line->due_room ? 2 * line->due_room : 16;
        line->due = xreallocarray(line->due, line->due_room, sizeof(line->due[0]));
    }
    line->due[line->due_end++] = due;
}

static void note_greeting(struct line *line)
{
    static const unsigned char none[SESSION_LEN];

    line->resumes = memcmp(line->beginning + SESSION_AT, none, SESSION_LEN) != 0;
    line->greeted = true;
}

/* Notes what was sent: len of the whole bytes that the library wanted to send. */
static void note_sent(struct line *line, const unsigned char *bytes, size_t len, size_t whole)
{
    const unsigned char *end = bytes + whole;

    while (len > 0) {
        size_t wanted = line->greeted ? BEGINNING_LEN : GREETING_LEN;
        size_t part;

        if (line->left > 0) {
            part = len < line->left ? len : line->left;
            line->left -= part;
        } else {
            part = wanted - line->beginning_len;
            part = len < part ? len : part;
            memcpy(line->beginning + line->beginning_len, bytes, part);
            line->beginning_len += part;
            if (line->beginning_len == wanted) {
                if (line->greeted)
                    note_request(line, bytes + part, (size_t)(end - bytes) - part);
                else
                    note_greeting(line);
                line->left = number_at(line->beginning) + LENGTH_LEN - wanted;
                line->beginning_len = 0;
            }
        }
        bytes += part;
        len -= part;
    }
}

/* ---- what it is sent ---- */

static bool check(struct line *line)
{
    struct reply_due *oldest = line->due_begin < line->due_end ? &line->due[line->due_begin] : NULL;
    bool taken = false;

    line->sound = line->answered ? reply_is_sound(line->frame + LENGTH_LEN, line->have - LENGTH_LEN,
                                                  oldest, line->authenticated, &taken)
                                 : reply_is_connect(line->frame + LENGTH_LEN,
                                                    line->have - LENGTH_LEN, line->resumes);
    line->answered = true;
    if (taken && oldest) {
        free(oldest->parts);
        line->due_begin++;
    }
    return line->sound;
}

/* Makes room for more of the frame, not at once for the length that it claims.  Returns the room.
 */
static size_t make_room(struct line *line, size_t whole)
{
    if (line->room < whole && line->have == line->room) {
        line->room = line->room ? 2 * line->room : ROOM_KEPT;
        line->frame = xreallocarray(line->frame, line->room, 1);
    }
    return (line->room < whole ? line->room : whole) - line->have;
}

/* Reads until there is a whole sound frame.  Returns 1, or what recv(2) has returned. */
static ssize_t fill(struct line *line, int fd)
{
    while (!line->sound) {
        size_t whole = LENGTH_LEN;
        size_t room;
        ssize_t len;

        if (line->have >= LENGTH_LEN)
            whole += number_at(line->frame);
        if (line->failed || whole > LENGTH_LEN + REPLY_MAX ||
            (line->have >= LENGTH_LEN && line->have == whole && !check(line))) {
            line->failed = true;
            errno = EBADMSG;
            return -1;
        }
        if (line->sound)
            break;
        room = make_room(line, whole); /* first: it may move the frame */
        len = __real_recv(fd, line->frame + line->have, room, MSG_DONTWAIT);
        if (len <= 0)
            return len;
        line->have += (size_t)len;
    }
    return 1;
}

static size_t give(struct line *line, void *bytes, size_t len)
{
    size_t part = line->have - line->given < len ? line->have - line->given : len;

    memcpy(bytes, line->frame + line->given, part);
    line->given += part;
    if (line->given < line->have)
        return part;
    line->have = line->given = 0;
    line->sound = false;
    if (line->room > ROOM_KEPT) {
        free(line->frame);
        line->frame = NULL;
        line->room = 0;
    }
    return part;
}

/* ---- in the place of the system's ---- */

/* Locks the mutex and returns the line; returns NULL, unlocked, if there is none. */
static struct line *find_line(int fd)
{
    struct line *line;

    if (!line_of(fd))
        return NULL;
    pthread_mutex_lock(&mutex);
    line = line_of(fd);
    if (!line)
        pthread_mutex_unlock(&mutex);
    return line;
}

/*
 * Returns true for the four-letter command by which the client of a read-only server asks another
 * server whether it serves writes.  The answer has no frame; see ping_rw_server() in zookeeper.c.
 */
static bool is_question(const void *bytes, size_t len)
{
    static const char question[] = "isro";

    return len == sizeof(question) - 1 && memcmp(bytes, question, len) == 0;
}

int wire_connect_relay(int fd, const struct sockaddr *address, socklen_t len)
{
    return __real_connect(fd, address, len);
}

void wire_hold(void)
{
    pthread_mutex_lock(&gate);
}

void wire_go_on(void)
{
    pthread_mutex_unlock(&gate);
}

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len)
{
    if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
        return __real_connect(fd, address, len);
    if (fd >= LINES) {
        errno = EMFILE;
        return -1;
    }
    wire_hold();
    wire_go_on();
    pthread_mutex_lock(&mutex);
    owner = getpid();
    forget(fd);
    if (fd >= 0)
        lines[fd] = xcalloc(1, sizeof(struct line));
    pthread_mutex_unlock(&mutex);
    return __real_connect(fd, address, len);
}

ssize_t __wrap_send(int fd, const void *bytes, size_t len, int flags)
{
    struct line *line = find_line(fd);
    ssize_t sent;

    if (line && !line->greeted && is_question(bytes, len)) {
        forget(fd);
        pthread_mutex_unlock(&mutex);
        line = NULL;
    }
    if (!line)
        return __real_send(fd, bytes, len, flags);
    sent = __real_send(fd, bytes, len, flags | MSG_DONTWAIT);
    if (sent > 0)
        note_sent(line, bytes, (size_t)sent, len);
    pthread_mutex_unlock(&mutex);
    return sent;
}

ssize_t __wrap_recv(int fd, void *bytes, size_t len, int flags)
{
    struct line *line = flags ? NULL : find_line(fd);
    ssize_t got;

    if (!line)
        return __real_recv(fd, bytes, len, flags);
    got = fill(line, fd);
    if (got > 0)
        got = (ssize_t)give(line, bytes, len);
    pthread_mutex_unlock(&mutex);
    return got;
}

/* Does not lock in a forked child: another thread may have held the mutex at the fork. */
int __wrap_close(int fd)
{
    if (line_of(fd) && owner == getpid()) {
        pthread_mutex_lock(&mutex);
        forget(fd);
        pthread_mutex_unlock(&mutex);
    }
    return __real_close(fd);
}
