#include "process/legacy.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/log.h"

/*
 * Room for some ten locks with the longest paths and two hundred servers; with more, the session
 * has to expire.
 */
#define TEXT_SIZE 32768

struct entry {
    struct session_identity identity;
    int timeout_ms;
    char text[TEXT_SIZE]; /* the locks, and behind their zero the servers' addresses */
};

/* The keeper writes the entry that is not in force, since it may be killed while it writes. */
struct legacy {
    atomic_int in_force; /* 0: none; 1, 2: the first, the second entry */
    struct entry entries[2];
};

struct legacy *legacy_new(void)
{
    void *memory = mmap(NULL, sizeof(struct legacy), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

void legacy_write(struct legacy *legacy, const struct session *session, const struct lockset *set,
                  const struct servers *servers)
{
    int in_force = atomic_load(&legacy->in_force);
    const struct entry *now = &legacy->entries[in_force == 2];
    struct entry *next = &legacy->entries[in_force == 1];
    int64_t id = session_id(session);

    if (id == 0)
        return;

    size_t locks_size = lockset_export(set, next->text, TEXT_SIZE) + 1;

    if (locks_size > TEXT_SIZE)
        return;
    if (in_force && now->identity.id == id && strcmp(now->text, next->text) == 0)
        return;

    char *addresses = servers_export(servers);
    size_t addresses_size = strlen(addresses) + 1;

    if (addresses_size <= TEXT_SIZE - locks_size) {
        next->identity = session_identity(session);
        next->timeout_ms = session_timeout_ms(session);
        memcpy(next->text + locks_size, addresses, addresses_size);
        atomic_store(&legacy->in_force, in_force == 1 ? 2 : 1);
    }
    free(addresses);
}

static void serve(struct session *session, struct lockset *set, int64_t deadline)
{
    while (lockset_phase(set) == LOCK_LEAVING && clock_now() < deadline) {
        struct pollfd fd = {.fd = session_fd(session), .events = POLLIN};
        struct session_event event;
        int64_t next = clock_earlier(deadline, session_tick(session));

        poll(&fd, 1, clock_poll_timeout(next));
        while (session_next_event(session, &event))
            lockset_handle(set, &event);
    }
}

void legacy_settle(const struct legacy *legacy, struct servers *servers,
                   const struct access_terms *access_terms, int64_t patience)
{
    int in_force = atomic_load(&legacy->in_force);
    const struct entry *entry = &legacy->entries[in_force == 2];
    struct access access;
    char *fault;

    if (!in_force)
        return;
    if (access_open(&access, access_terms, &fault) != 0) {
        log_warning("%s; the keeper was killed; its place in the queue ends with its session",
                    fault);
        free(fault);
        return;
    }
    servers_import(servers, entry->text + strlen(entry->text) + 1);

    const struct session_terms terms = {
        .servers = servers, .timeout_ms = entry->timeout_ms, .access = &access};
    struct session *session = session_resume(&terms, &entry->identity);

    if (!session)
        return;

    struct lockset *set = lockset_resume(session, entry->text);

    serve(session, set, clock_now() + patience);
    log_info("the keeper was killed; its place in the queue %s",
             lockset_is_vacated(set) ? "has been released" : "ends with its session");
    lockset_free(set);
    session_close(session);
    access_close(&access);
}
