#include "ensemble/passage.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "ensemble/wire.h"

/* How long connecting and the handshake may take together. */
#define HANDSHAKE_PATIENCE (5 * CLOCK_S)

#define ROOM ((size_t)16 * 1024)

/* Bytes that have been read from one side and not yet written to the other. */
struct buffer {
    size_t begin;
    size_t end;
    char bytes[ROOM];
};

enum passage_state {
    CONNECTING, /* to the server */
    SHAKING,    /* the TLS handshake is under way */
    OPEN,
};

struct passage {
    enum passage_state state;
    int64_t deadline; /* until it is OPEN */
    int local;
    int remote;
    const struct tls_library *library;
    SSL *ssl;
    short remote_events;      /* what OpenSSL waits for; when OPEN, without POLLIN */
    bool read_waits_to_write; /* OpenSSL reads no more before it has answered a key update */
    struct buffer out;        /* to the server */
    struct buffer in;         /* from it */
    char text[TLS_WHY_SIZE];
};

static bool is_empty(const struct buffer *buffer)
{
    return buffer->begin == buffer->end;
}

static bool is_for_now(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

struct passage *passage_new(const struct tls *tls, int local, const struct sockaddr *server,
                            socklen_t len, const char *const *names, size_t count)
{
    const int one = 1;
    struct passage *passage;
    int remote = socket(server->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    SSL *ssl = NULL;

    if (remote >= 0 && (wire_connect_relay(remote, server, len) == 0 || errno == EINPROGRESS)) {
        errno = ENOMEM;
        ssl = tls_connection(tls, remote, names, count);
    }
    if (!ssl) {
        int error = errno;

        if (remote >= 0)
            close(remote);
        close(local);
        errno = error;
        return NULL;
    }
    setsockopt(remote, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(local, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    passage = xcalloc(1, sizeof(*passage));
    passage->deadline = clock_now() + HANDSHAKE_PATIENCE;
    passage->local = local;
    passage->remote = remote;
    passage->library = tls_library_load();
    passage->ssl = ssl;
    passage->remote_events = POLLOUT;
    return passage;
}

int64_t passage_wait(const struct passage *passage, struct pollfd fds[PASSAGE_FDS])
{
    bool open = passage->state == OPEN;

    fds[0] = (struct pollfd){.fd = passage->local, .events = POLLRDHUP};
    fds[1] = (struct pollfd){.fd = passage->remote, .events = passage->remote_events};
    if (!open)
        return passage->deadline;
    if (is_empty(&passage->out))
        fds[0].events |= POLLIN;
    if (!is_empty(&passage->in))
        fds[0].events |= POLLOUT;
    else if (!passage->read_waits_to_write)
        fds[1].events |= POLLIN;
    if (!fds[1].events)
        fds[1].fd = -1; /* else poll(2) would report a server that has hung up again and again */
    return CLOCK_NEVER;
}

/* ---- how it ends; these return false ---- */

static bool end_by(struct passage_end *end, enum trouble_kind kind, const char *why)
{
    *end = (struct passage_end){.kind = kind, .why = why};
    return false;
}

static bool end_by_silence(const struct passage *passage, struct passage_end *end)
{
    return end_by(end, TROUBLE_NO_CONTACT,
                  passage->state == SHAKING ? "does not answer in the TLS handshake"
                                            : "does not answer");
}

/* Returns true if the library has left, or both connections have been cut, see failover.h. */
static bool is_left(const struct passage *passage)
{
    struct pollfd fd = {.fd = passage->local, .events = POLLRDHUP};

    return poll(&fd, 1, 0) > 0;
}

static bool end_by_leaving(const struct passage *passage, struct passage_end *end)
{
    end_by_silence(passage, end);
    end->left = true;
    return false;
}

/* A call of OpenSSL has returned this, and waits for nothing. */
static bool end_by_tls(struct passage *passage, int returned, struct passage_end *end)
{
    enum trouble_kind kind = tls_why(passage->ssl, returned, passage->text);

    if (kind != TROUBLE_NONE)
        return end_by(end, kind, passage->text);
    if (is_left(passage))
        return end_by_leaving(passage, end);
    if (passage->state == OPEN)
        return end_by(end, TROUBLE_NO_CONTACT, TROUBLE_CLOSED);
    return end_by(end, TROUBLE_FAULT,
                  "ended the connection in the TLS handshake: it has no TLS at this port (see "
                  "secureClientPort), is full (maxClientCnxns) or does not serve yet");
}

/* ---- until it is open ---- */

/* Checks if the connection is there.  Returns false if it has failed. */
static bool finish_connect(struct passage *passage, struct passage_end *end)
{
    struct pollfd fd = {.fd = passage->remote, .events = POLLOUT};
    int error = 0;
    socklen_t len = sizeof(error);

    if (poll(&fd, 1, 0) <= 0)
        return true;
    if (getsockopt(passage->remote, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && !error) {
        passage->state = SHAKING;
        return true;
    }
    if (is_left(passage))
        return end_by_leaving(passage, end);
    snprintf(passage->text, sizeof(passage->text), "cannot be reached: %s", strerror(error));
    return end_by(end, TROUBLE_NO_CONTACT, passage->text);
}

/*
 * Notes what OpenSSL waits for.  Returns SSL_ERROR_WANT_READ or SSL_ERROR_WANT_WRITE; 0 if it does
 * not wait, but has failed or ended.
 */
static int waits(struct passage *passage, int returned)
{
    int kind = passage->library->SSL_get_error(passage->ssl, returned);

    if (kind == SSL_ERROR_WANT_WRITE)
        passage->remote_events |= POLLOUT;
    else if (kind != SSL_ERROR_WANT_READ)
        return 0;
    else if (passage->state == SHAKING)
        passage->remote_events |= POLLIN;
    return kind;
}

static bool shake(struct passage *passage, struct passage_end *end)
{
    int returned;

    passage->library->ERR_clear_error();
    returned = passage->library->SSL_connect(passage->ssl);
    if (returned == 1 && !tls_is_proven(passage->ssl))
        return end_by(end, TROUBLE_FAULT, "shows no certificate");
    if (returned == 1) {
        passage->state = OPEN;
        return true;
    }
    return waits(passage, returned) || end_by_tls(passage, returned, end);
}

/* ---- open ---- */

/* Forwards what the library sends.  Returns false when the passage is over. */
static bool go_out(struct passage *passage, struct passage_end *end)
{
    struct buffer *out = &passage->out;

    for (;;) {
        int written;

        if (is_empty(out)) {
            ssize_t len = recv(passage->local, out->bytes, ROOM, 0);

            if (len <= 0)
                return (len < 0 && is_for_now(errno)) || end_by_leaving(passage, end);
            out->begin = 0;
            out->end = (size_t)len;
        }
        passage->library->ERR_clear_error();
        written = passage->library->SSL_write(passage->ssl, out->bytes + out->begin,
                                              (int)(out->end - out->begin));
        if (written <= 0)
            return waits(passage, written) || end_by_tls(passage, written, end);
        out->begin += (size_t)written;
    }
}

/* Forwards what the server sends.  Returns false when the passage is over. */
static bool go_in(struct passage *passage, struct passage_end *end)
{
    struct buffer *in = &passage->in;

    for (;;) {
        ssize_t sent;

        if (is_empty(in)) {
            int len;

            passage->library->ERR_clear_error();
            len = passage->library->SSL_read(passage->ssl, in->bytes, (int)ROOM);
            if (len <= 0) {
                int wait = waits(passage, len);

                passage->read_waits_to_write = wait == SSL_ERROR_WANT_WRITE;
                return wait || end_by_tls(passage, len, end);
            }
            in->begin = 0;
            in->end = (size_t)len;
        }
        sent = send(passage->local, in->bytes + in->begin, in->end - in->begin, MSG_NOSIGNAL);
        if (sent < 0)
            return is_for_now(errno) || end_by_leaving(passage, end);
        in->begin += (size_t)sent;
    }
}

bool passage_go(struct passage *passage, const struct pollfd fds[PASSAGE_FDS],
                struct passage_end *end)
{
    bool ended = fds[0].revents & (POLLRDHUP | POLLHUP | POLLERR);

    *end = (struct passage_end){0};
    if (passage->state != OPEN && ended)
        return end_by_leaving(passage, end);
    if (passage->state == CONNECTING && !finish_connect(passage, end))
        return false;
    if (passage->state != CONNECTING)
        passage->remote_events = 0;
    passage->read_waits_to_write = false;
    if (passage->state == SHAKING && !shake(passage, end))
        return false;
    if (passage->state != OPEN)
        return clock_now() < passage->deadline || end_by_silence(passage, end);
    /* In this order: the server may have ended the connection, after words that are to be read. */
    if (!go_in(passage, end) || !go_out(passage, end))
        return false;
    /* When the library has left, the passage does not wait for the server to take the rest. */
    return !(ended && !is_empty(&passage->out)) || end_by_leaving(passage, end);
}

void passage_cut(const struct passage *passage)
{
    shutdown(passage->local, SHUT_RDWR); /* first, see is_left() */
    shutdown(passage->remote, SHUT_RDWR);
}

void passage_free(struct passage *passage)
{
    passage->library->SSL_free(passage->ssl);
    close(passage->remote);
    close(passage->local);
    free(passage);
}
