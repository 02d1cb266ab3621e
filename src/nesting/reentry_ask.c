/*
 * The inner side of re-entry: asks the keepers around this process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "nesting/holds.h"
#include "nesting/reentry.h"
#include "nesting/reentry_wire.h"
#include "process/around.h"

/*
 * For how long to wait for a keeper's room before looking at wake_fd.  Others come first when it is
 * tried again.
 */
#define LOOK_UP (3 * CLOCK_S)

/* Connections to processes of other users, to be closed when nobody waits for an answer. */
struct foreign {
    int *fds;
    size_t len;
};

static enum reentry_answer ask_one(const char *name, const struct reentry_lock *lock,
                                   const struct servers *servers, int caller, int wake_fd,
                                   int64_t deadline, struct reentry_entry *entry,
                                   struct foreign *foreign)
{
    enum reentry_answer answer = REENTRY_UNKNOWN;
    int fd = wire_connect(name, clock_earlier(deadline, clock_now() + LOOK_UP));

    /* Else it has ended, and any user may have taken its name. */
    if (fd < 0)
        return errno == EAGAIN && !holds_is_foreign(name) ? REENTRY_SILENT : REENTRY_UNKNOWN;
    if (!wire_is_own(fd)) {
        foreign->fds = xreallocarray(foreign->fds, foreign->len + 1, sizeof(foreign->fds[0]));
        foreign->fds[foreign->len++] = fd;
        return REENTRY_UNKNOWN;
    }
    if (wire_ask(fd, WIRE_ENTER, lock, servers, caller))
        answer = wire_read_answer(fd, wake_fd, deadline, entry);
    if (answer != REENTRY_ENTERED) {
        wire_leave(fd); /* the answer may come yet */
        close(fd);
    }
    return answer;
}

enum reentry_answer reentry_ask(const struct reentry_lock *lock, const struct servers *servers,
                                int caller, int wake_fd, int64_t deadline,
                                struct reentry_entry *entry)
{
    const char *held = getenv(AROUND_VARIABLE);
    char *names = xstrdup(held ? held : "");
    char *rest = names;
    struct foreign foreign = {0};
    enum reentry_answer answer = REENTRY_UNKNOWN;

    while (rest && answer == REENTRY_UNKNOWN) {
        const char *name = strsep(&rest, " ");

        if (*name && strlen(name) < AROUND_NAME_SIZE)
            answer = ask_one(name, lock, servers, caller, wake_fd, deadline, entry, &foreign);
    }
    wire_close_foreign(foreign.fds, foreign.len); /* its child's end may make wake_fd readable */
    free(foreign.fds);
    free(names);
    return answer;
}

void reentry_leave(const struct reentry_entry *entry)
{
    wire_leave(entry->fd);
}

struct wanted {
    const struct reentry_lock *lock;
    const struct servers *servers;
    int64_t deadline;
    int32_t left; /* how many more holds it takes until all permits are held */
    enum reentry_holder kind;
};

static bool is_that(int fd, enum reentry_holder kind, bool own, const char *name, void *context)
{
    (void)name;
    struct wanted *wanted = context;
    enum reentry_answer answer = REENTRY_UNKNOWN;

    if (!own && wire_hears_of(fd, wanted->lock, wanted->servers, wanted->deadline))
        answer = REENTRY_ENTERED;
    else if (own && wire_ask(fd, WIRE_PROBE, wanted->lock, wanted->servers, -1))
        answer = wire_read_answer(fd, -1, wanted->deadline, NULL);
    wanted->left -= answer == REENTRY_ENTERED || answer == REENTRY_SHARED;
    wanted->kind = kind;
    return wanted->left <= 0;
}

pid_t reentry_held_for(const struct reentry_lock *lock, const struct servers *servers,
                       int64_t deadline, enum reentry_holder *kind)
{
    struct wanted wanted = {.lock = lock,
                            .servers = servers,
                            .deadline = deadline,
                            .left = lock->permits > 0 ? lock->permits : 1};
    pid_t found = holds_find(0, deadline, is_that, &wanted);

    *kind = wanted.kind;
    return found;
}
