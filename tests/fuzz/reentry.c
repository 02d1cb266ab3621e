/*
 * What processes say to each other about re-entry.  The bytes come as a packet from the other side:
 * they are a request or an answer whose parts lie within the packet, or neither.  What one side
 * says the other one reads as it was meant.
 */
#include "nesting/reentry_wire.h"

#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"

static int sender;
static int receiver;

/* How a request of each verb begins. */
static const char *const verbs[] = {
    [WIRE_ENTER] = "enter",
    [WIRE_PROBE] = "probe",
    [WIRE_UNLOCK] = "unlock",
    [WIRE_LEAVE] = "leave",
};

/* Empties the socket, so that the next packet is the next one to be read. */
static void drain(void)
{
    char byte;

    while (recv(receiver, &byte, 1, MSG_DONTWAIT) >= 0)
        continue;
}

static void open_sockets(void)
{
    int ends[2];

    if (sender || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return;
    sender = ends[0];
    receiver = ends[1];
}

static bool is_within(const struct wire_request *request, const char *part)
{
    return part >= request->text && part + strlen(part) < request->text + sizeof(request->text);
}

static void check_packet(const char *bytes, size_t size, struct servers *servers)
{
    static struct wire_request request;
    const struct reentry_lock lock = {.path = "/locks/x"};
    struct reentry_entry entry = {0};

    if (size > 0 && send(sender, bytes, size, 0) == (ssize_t)size &&
        wire_read_request(receiver, &request)) {
        MUST(strstr(request.text, verbs[request.verb]));
        MUST(is_within(&request, request.path) && is_within(&request, request.addresses));
        MUST(!strchr(request.path, '\n'));
        MUST(request.caller == -1);
        servers_same_place(servers, lock.path, request.addresses, request.path);
    }
    drain();
    if (size > 0 && send(sender, bytes, size, 0) == (ssize_t)size) {
        enum reentry_answer answer = wire_read_answer(receiver, -1, 0, &entry);

        MUST(answer <= REENTRY_SILENT);
        MUST((answer == REENTRY_ENTERED) == (entry.node != NULL));
        MUST(!entry.node || strlen(entry.node) < size);
        free(entry.node);
    }
    drain();
    if (size > 0 && send(sender, bytes, size, 0) == (ssize_t)size)
        wire_hears_of(receiver, &lock, servers, 0);
    drain();
}

static void check_request(const struct reentry_lock *lock, const struct servers *servers,
                          enum wire_verb verb, int caller)
{
    static struct wire_request request;
    char *addresses = servers_export_addresses(servers);

    if (wire_ask(sender, verb, lock, servers, caller)) {
        MUST(wire_read_request(receiver, &request));
        MUST((request.caller >= 0) == (caller >= 0));
        if (request.caller >= 0)
            close(request.caller);
        MUST(request.verb == verb && request.lock.kind == lock->kind);
        MUST(request.lock.permits == lock->permits);
        MUST(strcmp(request.path, lock->path) == 0);
        MUST(strcmp(request.addresses, addresses) == 0);
        MUST(servers_same_place(servers, lock->path, request.addresses, request.path));
    }
    if (wire_ask_unlock(sender, lock->path, "zk1,zk2/a")) {
        MUST(wire_read_request(receiver, &request) && request.verb == WIRE_UNLOCK);
        MUST(strcmp(request.path, lock->path) == 0 && strcmp(request.addresses, "zk1,zk2/a") == 0);
    }
    wire_leave(sender);
    MUST(wire_read_request(receiver, &request) && request.verb == WIRE_LEAVE);
    free(addresses);
}

static void check_told(const struct reentry_lock *lock, const struct servers *servers)
{
    const struct reentry_lock both[] = {{.path = "/another", .permits = 1}, *lock};

    wire_tell(sender, both, 2, servers);
    MUST(wire_hears_of(receiver, lock, servers, 0));
    wire_tell(sender, both, 1, servers);
    MUST(!wire_hears_of(receiver, lock, servers, 0) || strcmp(lock->path, "/another") == 0);
}

static void check_answer(enum reentry_answer answer, const char *node, int64_t token)
{
    struct reentry_entry entry = {0};

    wire_answer(sender, answer, node, token);
    MUST(wire_read_answer(receiver, -1, 0, &entry) == answer);
    MUST(answer == REENTRY_ENTERED || !entry.node);
    MUST(!entry.node || (strcmp(entry.node, node) == 0 && entry.token == token));
    free(entry.node);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    char *fault;
    struct servers *servers = servers_parse("10.0.0.1,10.0.0.2", &fault);
    struct reentry_lock lock = {.kind = fuzz_below(&input, NAMING_UNFAIR + 1),
                                .permits = (int32_t)fuzz_number(&input, 4)};
    enum reentry_answer answer = fuzz_below(&input, REENTRY_SILENT + 1);
    int64_t token = (int64_t)fuzz_number(&input, 8);
    char *text = fuzz_text(input.bytes, input.len);
    char path[200];

    open_sockets();
    servers_import(servers, "10.0.0.1:2181 10.0.0.2:2181");
    check_packet((const char *)bytes, size, servers);
    /* A path as the program takes them. */
    snprintf(path, sizeof(path), "/%.100s", text);
    for (char *p = path; *p; p++)
        if ((unsigned char)*p < ' ')
            *p = '_';
    lock.path = path;
    if (fuzz_below(&input, 2))
        check_request(&lock, servers, WIRE_PROBE, -1);
    else
        check_request(&lock, servers, WIRE_ENTER, fuzz_below(&input, 2) ? receiver : -1);
    check_told(&lock, servers);
    check_answer(answer, path, token);
    servers_free(servers);
    free(text);
    return 0;
}
