/*
 * One connection of the relay.  The target is the client library at its one end and a server of
 * TLS, real OpenSSL, at the other.  The input says which certificate that has, in which pieces
 * bytes go where, when a turn of the relay comes and what poll(2) tells it, who ends what, and what
 * comes that is no TLS.
 *
 * Whatever comes, each end reads a prefix of what the other one has written, and the server nothing
 * before it has proved the name.  The passage ends only for a reason, and it has words for one that
 * is not just an end; it ends as soon as it is told that the library has left.  And when nothing is
 * wrong and both ends take what comes, all arrives, by such turns alone as poll() asks for, none of
 * which does nothing.
 */
#include "ensemble/passage.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/un.h>

#include "authority.h"
#include "base/clock.h"
#include "ensemble/wire.h"
#include "fuzz.h"

enum {
    ROOM = 1 << 16,
    SNDBUF_SMALL = 1, /* the kernel makes it the least it allows */
    KEY_UPDATES_MAX = 8,
    TURNS_MAX = 2000,
    IDLE_MAX = 8,
    MARK_LEN = 16,
};

/* As the linker names them, see the Makefile. */
int64_t __wrap_clock_now(void);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
ssize_t __wrap_recv(int fd, void *bytes, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t len, int flags);
int __real_connect(int fd, const struct sockaddr *to, socklen_t len);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
ssize_t __real_recv(int fd, void *bytes, size_t len, int flags);
ssize_t __real_send(int fd, const void *bytes, size_t len, int flags);

/* ---- what is made once ---- */

static struct tls *clients[2]; /* without a certificate, and with one */
static SSL_CTX *context;       /* the server's */
static int listener;
static struct sockaddr_un where = {.sun_family = AF_UNIX};
static socklen_t where_len;
static struct identity servers[5];
static unsigned char of_library[ROOM]; /* what it says */
static unsigned char of_server[ROOM];

/* Which names the servers are called by, and which of the certificates prove one. */
static const struct {
    const char *names[2];
    size_t count;
    bool proved[sizeof(servers) / sizeof(servers[0])];
} calls[] = {
    {{"server.example"}, 1, {true}},
    {{"127.0.0.1"}, 1, {true}},
    {{"10.1.2.3", "SERVER.example."}, 2, {true}},
    {{"127.0.0.1", "elsewhere.example"}, 2, {false, true}},
    {{"::1"}, 1, {false}},
};

/* ---- what is begun anew with each input ---- */

static struct fuzz_input input;
static int64_t now;
static struct passage *passage;
static int library;    /* its end, or -1 */
static int connection; /* the server's, or -1 */
static SSL *server;
static BIO *server_in; /* what has come to it, and what is to go from it */
static BIO *server_out;
static bool shaken; /* hands, as the server sees it */
static size_t library_wrote, library_read, server_wrote, server_read;
static size_t moved;                /* bytes, through any socket */
static unsigned char raw[2 * ROOM]; /* what has come to the server, as it came */
static size_t raw_len;
static unsigned int key_updates;

/* Reasons to end. */
static bool library_ended;
static bool server_ended;
static bool unproved; /* by the server: its name, or a version that is not too old */
static bool refused;  /* it is unproved, or it wants a certificate that the client does not have */
static bool garbled;
/*
 * The server has asked for something in the middle of the data, a new key or renegotiation: as a
 * client, OpenSSL may fail then if a write waits (its issue 13729), or the other way round.
 */
static bool delicate;
static bool unreachable;

/* What the kernel does. */
static size_t recv_most, send_most; /* 0: as much as there is */
static unsigned int interrupts;
static unsigned int unconnected; /* turns, before it is connected */
static bool is_small, in_progress;

/* ---- the kernel, as the passage sees it ---- */

int64_t __wrap_clock_now(void)
{
    return now;
}

int wire_connect_relay(int fd, const struct sockaddr *address, socklen_t len)
{
    const int small = SNDBUF_SMALL;
    int result;

    if (is_small)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    result = connect(fd, address, len);
    if (result < 0 || !in_progress)
        return result;
    errno = EINPROGRESS;
    return -1;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
    MUST(timeout == 0);
    if (unconnected > 0) {
        unconnected--;
        return 0;
    }
    return __real_poll(fds, count, timeout);
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
    int result = __real_getsockopt(fd, level, name, value, len);

    if (unreachable && name == SO_ERROR)
        *(int *)value = EHOSTUNREACH;
    return result;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_interrupted(void)
{
    if (interrupts == 0)
        return false;
    interrupts--;
    errno = EINTR;
    return true;
}

ssize_t __wrap_recv(int fd, void *bytes, size_t len, int flags)
{
    MUST(len > 0);
    if (is_interrupted())
        return -1;
    return __real_recv(fd, bytes, recv_most ? least(recv_most, len) : len, flags);
}

ssize_t __wrap_send(int fd, const void *bytes, size_t len, int flags)
{
    MUST(len > 0 && flags & MSG_NOSIGNAL);
    if (is_interrupted())
        return -1;
    return __real_send(fd, bytes, send_most ? least(send_most, len) : len, flags);
}

/* ---- the library ---- */

static void library_writes(size_t most)
{
    ssize_t len = __real_send(library, of_library + library_wrote,
                              least(most, ROOM - library_wrote), MSG_DONTWAIT);

    if (len > 0)
        library_wrote += (size_t)len, moved += (size_t)len;
}

/* Returns whether there may be more. */
static bool library_reads(size_t most)
{
    static unsigned char bytes[ROOM];
    ssize_t len = __real_recv(library, bytes, least(most, ROOM), MSG_DONTWAIT);

    if (len <= 0)
        return false;
    MUST(shaken && !refused);
    MUST((size_t)len <= server_wrote - library_read);
    MUST(memcmp(bytes, of_server + library_read, (size_t)len) == 0);
    library_read += (size_t)len, moved += (size_t)len;
    return true;
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- the server ---- */

/* Returns whether there may be more. */
static bool server_takes(size_t most)
{
    size_t from = raw_len < MARK_LEN ? 0 : raw_len - MARK_LEN;
    ssize_t len =
        __real_recv(connection, raw + raw_len, least(most, sizeof(raw) - raw_len), MSG_DONTWAIT);

    if (len <= 0)
        return false;
    /* Nothing in the clear. */
    MUST(!memmem(raw + from, raw_len + (size_t)len - from, of_library, MARK_LEN));
    BIO_write(server_in, raw + raw_len, (int)len);
    raw_len += (size_t)len, moved += (size_t)len;
    return true;
}

/* Takes in why OpenSSL goes on no more. */
static void server_stops(int returned)
{
    if (SSL_get_error(server, returned) != SSL_ERROR_SSL)
        return;
    MUST(garbled || refused || delicate || server_ended);
    garbled = true;
}

static void server_works(void)
{
    static unsigned char bytes[ROOM];
    int len;

    ERR_clear_error();
    if (!shaken) {
        int done = SSL_accept(server);

        shaken = done == 1;
        MUST(!shaken || !refused);
        if (!shaken) {
            server_stops(done);
            return;
        }
    }
    while ((len = SSL_read(server, bytes, sizeof(bytes))) > 0) {
        MUST((size_t)len <= library_wrote - server_read);
        MUST(memcmp(bytes, of_library + server_read, (size_t)len) == 0);
        server_read += (size_t)len;
    }
    server_stops(len);
}

static void server_writes(size_t most)
{
    size_t part = least(most, ROOM - server_wrote);
    int len;

    if (!shaken || part == 0 || SSL_get_shutdown(server) & SSL_SENT_SHUTDOWN)
        return;
    ERR_clear_error();
    len = SSL_write(server, of_server + server_wrote, (int)part);
    if (len > 0)
        server_wrote += (size_t)len;
    else
        server_stops(len);
}

static void server_gives(size_t most)
{
    static char given[ROOM];
    char *bytes;
    long len = BIO_get_mem_data(server_out, &bytes);
    ssize_t sent = __real_send(connection, bytes, least(least(most, (size_t)len), ROOM),
                               MSG_NOSIGNAL | MSG_DONTWAIT);

    if (len > 0 && sent > 0) {
        BIO_read(server_out, given, (int)sent);
        moved += (size_t)sent;
    }
}

/* Has the server change its key, and perhaps ask for one of the client. */
static void server_updates(void)
{
    bool asks = fuzz_below(&input, 2);

    if (!shaken || SSL_version(server) != TLS1_3_VERSION || key_updates++ >= KEY_UPDATES_MAX)
        return;
    delicate |= asks;
    ERR_clear_error();
    SSL_key_update(server, asks ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED);
    SSL_do_handshake(server);
}

static void server_renegotiates(void)
{
    ERR_clear_error();
    if (!shaken || SSL_version(server) != TLS1_2_VERSION || SSL_renegotiate(server) != 1)
        return;
    delicate = true;
    SSL_do_handshake(server);
}

/* Puts something wrong between what the ends say, or into it. */
static void garble(void)
{
    const unsigned char alert[] = {0x15, 3, 3, 0, 2, 2, fuzz_byte(&input)};
    BIO *to = fuzz_below(&input, 4) ? server_out : server_in;
    size_t len = fuzz_byte(&input) % 64;
    char *bytes;

    switch (fuzz_below(&input, 3)) {
    case 0:
        BIO_write(to, alert, sizeof(alert));
        break;
    case 1:
        len = least(len, input.len);
        BIO_write(to, input.bytes, (int)len);
        input.bytes += len;
        input.len -= len;
        break;
    default:
        if (BIO_get_mem_data(to, &bytes) <= (long)len)
            return;
        bytes[len] ^= 1;
        break;
    }
    garbled = true;
}

/* ---- the relay ---- */

/* Takes in how the passage is over; opened: it was open before. */
static void finish(const struct passage_end *end, bool opened, bool late)
{
    bool wrong = refused || garbled || delicate;

    MUST(wrong || library_ended || server_ended || unreachable || late);
    MUST(end->kind == TROUBLE_FAULT || end->kind == TROUBLE_NO_CONTACT);
    MUST(!end->left || library_ended);
    MUST(wrong || end->kind == TROUBLE_NO_CONTACT || !opened);
    MUST(*end->why && fuzz_is_printable(end->why, 256));
    passage_free(passage);
    passage = NULL;
}

/* Returns whether a passage may wait so long: for ever once it is open, which takes a proof. */
static bool is_right(int64_t until)
{
    return until == CLOCK_NEVER ? !unproved : until > now;
}

/* One turn: keep: of which descriptors the results of poll() are told already. */
static void turn(unsigned int keep)
{
    struct pollfd fds[PASSAGE_FDS];
    struct passage_end end;
    unsigned int before = interrupts;
    int64_t until;
    bool told;

    if (!passage)
        return;
    until = passage_wait(passage, fds);
    MUST(__real_poll(fds, PASSAGE_FDS, 0) >= 0);
    for (int i = 0; i < PASSAGE_FDS; i++)
        if (!(keep & 1U << i))
            fds[i].revents = 0;
    told = fds[0].revents & (POLLRDHUP | POLLHUP);
    if (!passage_go(passage, fds, &end)) {
        finish(&end, until == CLOCK_NEVER, until <= now);
        return;
    }
    MUST(end.kind == TROUBLE_NONE && is_right(passage_wait(passage, fds)));
    MUST(!told || interrupts < before); /* else it waited for the server to take more */
}

/* While the library and the server do nothing, the passage soon has nothing to do, either. */
static void idle(void)
{
    recv_most = send_most = interrupts = unconnected = 0;
    for (int turns = 0; passage; turns++) {
        struct pollfd fds[PASSAGE_FDS];

        passage_wait(passage, fds);
        if (__real_poll(fds, PASSAGE_FDS, 0) <= 0)
            break;
        turn(3);
        MUST(turns < TURNS_MAX);
    }
}

/* Has all go on until nothing does any more, with such turns alone as poll() asks for. */
static void settle(void)
{
    int idle_turns = 0;

    recv_most = send_most = interrupts = unconnected = 0;
    for (int turns = 0;; turns++) {
        struct pollfd fds[PASSAGE_FDS];
        size_t before = moved;

        while (server_takes(ROOM))
            ;
        server_works();
        server_gives(ROOM);
        while (library_reads(ROOM))
            ;
        if (!passage)
            break;
        passage_wait(passage, fds);
        if (__real_poll(fds, PASSAGE_FDS, 0) > 0)
            turn(3);
        else if (moved == before)
            break;
        idle_turns = moved == before ? idle_turns + 1 : 0;
        MUST(idle_turns < IDLE_MAX && turns < TURNS_MAX);
    }
}

static void end_something(void)
{
    switch (fuzz_below(&input, 5)) {
    case 0:
        shutdown(library, SHUT_WR);
        library_ended = true;
        break;
    case 1:
        close_end(&library);
        library_ended = true;
        break;
    case 2:
        if (!shaken)
            break;
        ERR_clear_error();
        SSL_shutdown(server);
        server_ended = true;
        break;
    case 3:
        shutdown(connection, SHUT_WR);
        server_ended = true;
        break;
    default:
        close_end(&connection);
        server_ended = true;
        break;
    }
}

static void change_kernel(void)
{
    switch (fuzz_below(&input, 4)) {
    case 0:
        recv_most = fuzz_byte(&input);
        break;
    case 1:
        send_most = fuzz_byte(&input);
        break;
    case 2:
        interrupts = fuzz_below(&input, 4);
        break;
    default:
        unconnected = fuzz_below(&input, 4);
        break;
    }
}

/* Draws a number of bytes, small or large. */
static size_t draw_len(void)
{
    size_t len = fuzz_byte(&input);

    return len < 128 ? len : (len - 127) * 256;
}

static void act(void)
{
    switch (fuzz_below(&input, 20)) {
    case 0:
        server_takes(draw_len());
        break;
    case 1:
        server_works();
        break;
    case 2:
        server_gives(draw_len());
        break;
    case 3:
    case 4:
        server_writes(draw_len());
        break;
    case 5:
    case 6:
        library_writes(draw_len());
        break;
    case 7:
        library_reads(draw_len());
        break;
    case 8:
        settle();
        break;
    case 9:
        if (fuzz_below(&input, 2))
            server_renegotiates();
        else
            server_updates();
        break;
    case 10:
        garble();
        break;
    case 11:
        end_something();
        break;
    case 12:
        change_kernel();
        break;
    case 13:
        now += 50 * CLOCK_MS * fuzz_byte(&input);
        break;
    case 14:
    case 15:
        server_takes(ROOM);
        server_works();
        server_gives(ROOM);
        break;
    default:
        turn(fuzz_below(&input, 4));
        break;
    }
}

/* ---- beginning and end ---- */

static void make_once(void)
{
    struct identity ca = make_identity(NULL, "ca", NULL, 30);
    struct identity other = make_identity(NULL, "ca", NULL, 30);
    struct identity client = make_identity(&ca, "client", NULL, 30);
    char *own = write_identity(&client, true);
    char *trusted = write_identity(&ca, false);
    const struct tls_files files[] = {{.cacert = trusted}, {.cacert = trusted, .cert = own}};
    uint32_t number = 1;

    servers[0] = make_identity(&ca, "a", "DNS:server.example,IP:127.0.0.1", 30);
    servers[1] = make_identity(&ca, "b", "DNS:elsewhere.example", 30);
    servers[2] = make_identity(&other, "c", "DNS:server.example,DNS:elsewhere.example", 30);
    servers[3] = make_identity(&ca, "d", "DNS:server.example,DNS:elsewhere.example", -1);
    servers[4] = make_identity(&ca, "server.example", NULL, 30);
    for (size_t i = 0; i < 2; i++) {
        enum exitcode status;
        char *fault;

        clients[i] = tls_new(&files[i], &status, &fault);
        MUST(clients[i]);
    }
    free(own);
    free(trusted);
    prctl(PR_SET_DUMPABLE, 1); /* else a sanitizer cannot look for leaks */
    context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_security_level(context, 0); /* for versions that are too old */
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca.certificate);
    free_identity(&ca);
    free_identity(&other);
    free_identity(&client);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    where_len = sizeof(where.sun_family);
    MUST(bind(listener, (struct sockaddr *)&where, where_len) == 0);
    MUST(listen(listener, 4) == 0);
    where_len = sizeof(where);
    MUST(getsockname(listener, (struct sockaddr *)&where, &where_len) == 0);
    signal(SIGPIPE, SIG_IGN); /* as the keeper has it */
    for (size_t i = 0; i < ROOM; i++) {
        number = number * 1664525 + 1013904223;
        of_library[i] = (unsigned char)(number >> 24);
        of_server[i] = (unsigned char)(number >> 16);
    }
}

static void begin_server(unsigned int which, bool wants_certificate)
{
    static const int versions[] = {TLS1_3_VERSION, TLS1_3_VERSION, TLS1_2_VERSION, TLS1_1_VERSION};
    int version = versions[fuzz_below(&input, 4)];

    server = SSL_new(context);
    server_in = BIO_new(BIO_s_mem());
    server_out = BIO_new(BIO_s_mem());
    SSL_set_bio(server, server_in, server_out);
    SSL_use_certificate(server, servers[which].certificate);
    SSL_use_PrivateKey(server, servers[which].key);
    SSL_set_max_proto_version(server, version);
    SSL_set_num_tickets(server, fuzz_below(&input, 3));
    SSL_set_mode(server, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (wants_certificate)
        SSL_set_verify(server, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    unproved |= version < TLS1_2_VERSION;
    refused |= unproved;
}

/* Begins a passage; returns false if there is none. */
static bool begin(void)
{
    unsigned int which = fuzz_below(&input, 8);
    unsigned int call = fuzz_below(&input, 8);
    unsigned int bits = fuzz_byte(&input);
    const int small = SNDBUF_SMALL;
    struct sockaddr_un nobody = {.sun_family = AF_UNIX, .sun_path = "/nobody"};
    int pair[2];

    which = which < 5 ? which : 0;
    call = call < 5 ? call : 0;
    now = CLOCK_S;
    shaken = library_ended = server_ended = garbled = delicate = false;
    library_wrote = library_read = server_wrote = server_read = moved = raw_len = 0;
    recv_most = send_most = interrupts = unconnected = key_updates = 0;
    is_small = bits & 1;
    in_progress = bits & 2;
    unreachable = (bits & 12) == 12;
    unproved = !calls[call].proved[which];
    refused = unproved || (bits & 48) == 16;
    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    if (is_small)
        for (int i = 0; i < 2; i++)
            setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    library = pair[1];
    if ((bits & 0xc0) == 0xc0)
        passage = passage_new(clients[0], pair[0], (struct sockaddr *)&nobody, sizeof(nobody),
                              calls[call].names, calls[call].count);
    else
        passage = passage_new(clients[(bits & 32) > 0], pair[0], (struct sockaddr *)&where,
                              where_len, calls[call].names, calls[call].count);
    if (!passage) {
        MUST((bits & 0xc0) == 0xc0 && errno == ENOENT);
        return false;
    }
    MUST((bits & 0xc0) != 0xc0);
    connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    MUST(connection >= 0);
    begin_server(which, bits & 16);
    return true;
}

/* Makes sure that both ends see the end of the passage. */
static void check_closed(void)
{
    struct pollfd fds[] = {{.fd = library}, {.fd = connection}};

    MUST(__real_poll(fds, 2, 0) >= 0);
    MUST(library < 0 || fds[0].revents & POLLHUP);
    MUST(connection < 0 || fds[1].revents & POLLHUP);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static int next_fd;
    int fd;

    if (!context)
        make_once();
    if (!next_fd)
        close(next_fd = dup(listener));
    input = (struct fuzz_input){bytes, size};
    if (begin()) {
        while (input.len > 0)
            act();
        idle();
        settle();
        if (passage && !garbled) {
            MUST(!library_ended && !server_ended && !refused && !unreachable);
            MUST(server_read == library_wrote && library_read == server_wrote);
        }
        if (passage)
            passage_free(passage);
        passage = NULL;
        check_closed();
        SSL_free(server);
        close_end(&connection);
    }
    close_end(&library);
    fd = dup(listener);
    MUST(fd == next_fd);
    close(fd);
    return 0;
}
