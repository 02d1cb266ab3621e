#include "nesting/reentry_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "process/packet.h"

/*
 * How many connections may wait to be accepted; the others wait in connect().  Any user may connect
 * all the time, and keeps those behind him waiting: with 4096 an --unlock took more than 20 s on a
 * busy machine, with 64 one second.
 */
#define BACKLOG 64

static const char *const answers[] = {
    [REENTRY_UNKNOWN] = "unknown", [REENTRY_ENTERED] = "entered",   [REENTRY_SHARED] = "shared",
    [REENTRY_FULL] = "full",       [REENTRY_UNLOCKED] = "unlocked", [REENTRY_IN_USE] = "in-use",
    [REENTRY_STUCK] = "stuck",     [REENTRY_SILENT] = "silent",     [REENTRY_TOGETHER] = "together",
    [REENTRY_OUTSIDE] = "outside",
};

/* ---- sockets ---- */

static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    /* The first byte 0 makes it abstract: there is no file, and nothing is left behind. */
    int len =
        snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, WIRE_PREFIX "%s", name);

    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

static int open_socket(int flags)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
}

static bool has_hung_up(int fd)
{
    struct pollfd end = {.fd = fd, .events = POLLRDHUP};

    return poll(&end, 1, 0) > 0;
}

struct ucred wire_credentials(int fd)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t len = sizeof(peer);

    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
    return peer;
}

bool wire_is_own(int fd)
{
    return wire_credentials(fd).uid == geteuid();
}

bool wire_peer(int fd, struct procid *peer)
{
    /* Before a number is free again, the descriptors of its process are closed. */
    return procid_of(wire_credentials(fd).pid, peer) && !has_hung_up(fd);
}

bool wire_is_near(int fd)
{
    return process_is_near(wire_credentials(fd).pid) && !has_hung_up(fd);
}

/* Closes a socket that could not be set up, and keeps errno. */
static int failed(int fd)
{
    int error = errno;

    close(fd);
    errno = error;
    return -1;
}

bool wire_close_foreign(const int *fds, size_t count)
{
    pid_t self = getpid();
    pid_t child;

    if (count == 0)
        return true;
    child = fork();
    if (child < 0)
        return false;
    if (child == 0) {
        /* Without a pipe: others may have taken all descriptors. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == self)
            pause();
        _exit(0);
    }
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    kill(child, SIGKILL);
    return true;
}

int wire_listen(const char *name)
{
    struct sockaddr_un address;
    socklen_t len = address_of(name, &address);
    int fd = open_socket(SOCK_NONBLOCK);

    if (fd >= 0 && (bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, BACKLOG) < 0))
        return failed(fd);
    return fd;
}

int wire_connect(const char *name, int64_t deadline)
{
    struct sockaddr_un address;
    socklen_t len = address_of(name, &address);
    int fd = open_socket(0);
    int status;

    if (fd < 0)
        return -1;
    /* Waits in connect(): one that only tried now and then might never find room in the queue. */
    do {
        int64_t left = deadline - clock_now();
        /* 0 would be for ever. */
        struct timespec span = clock_timespec(left > CLOCK_US ? left : CLOCK_US);
        struct timeval patience = {.tv_sec = span.tv_sec, .tv_usec = span.tv_nsec / CLOCK_US};

        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        status = connect(fd, (struct sockaddr *)&address, len);
    } while (status < 0 && errno == EINTR);
    if (status < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        return failed(fd);
    return fd;
}

bool wire_look(const char *name, struct ucred *listener)
{
    struct sockaddr_un address;
    socklen_t len = address_of(name, &address);
    int fd = open_socket(SOCK_NONBLOCK);

    if (fd < 0)
        return false;
    /* Nobody can send on it, so nothing makes close() wait, see wire_close_foreign(). */
    if (shutdown(fd, SHUT_RD) < 0 || connect(fd, (struct sockaddr *)&address, len) < 0) {
        failed(fd);
        return false;
    }
    *listener = wire_credentials(fd);
    close(fd);
    return true;
}

/* ---- words ---- */

/* Sends a text, with a descriptor unless that is -1, and frees the text. */
static bool send_text_with(int fd, char *text, int descriptor)
{
    size_t len = strlen(text);
    bool sent = len < WIRE_SIZE && packet_send(fd, text, len, descriptor) == (ssize_t)len;

    free(text);
    return sent;
}

static bool send_text(int fd, char *text)
{
    return send_text_with(fd, text, -1);
}

/* Ends a text that was received; returns false if it is none. */
static bool is_text(char text[WIRE_SIZE], ssize_t len)
{
    if (len <= 0 || len >= WIRE_SIZE || memchr(text, 0, (size_t)len))
        return false;
    text[len] = '\0';
    return true;
}

/* Takes a text, and the descriptor that came along; see packet_receive(). */
static bool receive_text_with(int fd, char text[WIRE_SIZE], int *descriptor, bool *lost)
{
    ssize_t len = packet_receive(fd, text, WIRE_SIZE - 1, descriptor, lost);

    return is_text(text, len);
}

static bool receive_text(int fd, char text[WIRE_SIZE])
{
    ssize_t len = recv(fd, text, WIRE_SIZE - 1, 0);

    return is_text(text, len);
}

bool wire_ask(int fd, enum wire_verb verb, const struct reentry_lock *lock,
              const struct servers *servers, int caller)
{
    char *addresses = servers_export_addresses(servers);
    char *text =
        xasprintf("%s %d %" PRId32 "\n%s%s\n%s", verb == WIRE_PROBE ? "probe" : "enter",
                  (int)lock->kind, lock->permits, servers_chroot(servers), lock->path, addresses);

    free(addresses);
    return send_text_with(fd, text, caller);
}

void wire_tell(int fd, const struct reentry_lock *locks, size_t count,
               const struct servers *servers)
{
    char *text = servers_export_addresses(servers);

    for (size_t i = 0; i < count; i++) {
        char *longer = xasprintf("%s\n%" PRId32 " %s%s", text, locks[i].permits,
                                 servers_chroot(servers), locks[i].path);

        if (strlen(longer) >= WIRE_SIZE) {
            free(longer);
            break;
        }
        xreplace(&text, longer);
    }
    send_text(fd, text);
}

bool wire_hears_of(int fd, const struct reentry_lock *lock, const struct servers *servers,
                   int64_t deadline)
{
    struct pollfd word = {.fd = fd, .events = POLLIN};
    char text[WIRE_SIZE];
    char *rest = text;
    const char *addresses;

    if (poll(&word, 1, clock_poll_timeout(deadline)) <= 0 || !receive_text(fd, text))
        return false;
    addresses = strsep(&rest, "\n");
    while (rest) {
        const char *line = strsep(&rest, "\n");
        int32_t permits;
        int path_at = 0;

        /* NOLINTNEXTLINE(cert-err34-c) */
        if (sscanf(line, "%" SCNd32 " %n", &permits, &path_at) == 1 && path_at > 0 &&
            permits == lock->permits &&
            servers_same_place(servers, lock->path, addresses, line + path_at))
            return true;
    }
    return false;
}

void wire_leave(int fd)
{
    send_text(fd, xstrdup("leave\n\n"));
}

bool wire_ask_unlock(int fd, const char *path, const char *servers)
{
    return send_text(fd, xasprintf("unlock\n%s\n%s", path, servers));
}

bool wire_read_request(int fd, struct wire_request *request)
{
    char *rest = request->text;
    const char *head;
    char verb[6];
    int kind;

    *request = (struct wire_request){0};
    if (!receive_text_with(fd, request->text, &request->caller, &request->caller_lost))
        return false;
    head = strsep(&rest, "\n");
    request->path = strsep(&rest, "\n");
    request->addresses = rest;
    if (!rest)
        return false;
    if (strcmp(head, "unlock") == 0) {
        request->verb = WIRE_UNLOCK;
        return true;
    }
    if (strcmp(head, "leave") == 0) {
        request->verb = WIRE_LEAVE;
        return true;
    }
    /* A number out of range is no kind that is known.  NOLINTNEXTLINE(cert-err34-c) */
    if (sscanf(head, "%5s %d %" SCNd32, verb, &kind, &request->lock.permits) != 3)
        return false;
    request->verb = strcmp(verb, "probe") == 0 ? WIRE_PROBE : WIRE_ENTER;
    if (request->verb == WIRE_ENTER && strcmp(verb, "enter") != 0)
        return false;
    request->lock.kind = (enum naming_kind)kind;
    return true;
}

void wire_answer(int fd, enum reentry_answer answer, const char *node, int64_t token)
{
    send_text(fd, xasprintf("%s %" PRId64 " %s", answers[answer], token, node));
}

enum reentry_answer wire_read_answer(int fd, int wake_fd, int64_t deadline,
                                     struct reentry_entry *entry)
{
    struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
    char text[WIRE_SIZE];
    int node_at = 0;
    int64_t token;
    char word[16];

    if (poll(fds, 2, clock_poll_timeout(deadline)) <= 0 || !fds[0].revents)
        return REENTRY_SILENT;
    if (!receive_text(fd, text))
        return REENTRY_UNKNOWN;
    /* NOLINTNEXTLINE(cert-err34-c) */
    if (sscanf(text, "%15s %" SCNd64 " %n", word, &token, &node_at) != 2 || node_at == 0)
        return REENTRY_UNKNOWN;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        if (strcmp(word, answers[i]) == 0) {
            if (i == REENTRY_ENTERED && entry)
                *entry = (struct reentry_entry){
                    .fd = fd, .token = token, .node = xstrdup(text + node_at)};
            return (enum reentry_answer)i;
        }
    }
    return REENTRY_UNKNOWN;
}
