#include "ensemble/lookup.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/xalloc.h"

struct lookup {
    char *name;
    struct addrinfo *found;
    int error;
    int done_fd;
    atomic_int users; /* the thread, and who waits for it: the last one frees it */
};

static void free_it(struct lookup *lookup)
{
    if (lookup->found)
        freeaddrinfo(lookup->found);
    if (lookup->done_fd >= 0)
        close(lookup->done_fd);
    free(lookup->name);
    free(lookup);
}

void lookup_release(struct lookup *lookup)
{
    if (atomic_fetch_sub(&lookup->users, 1) == 1)
        free_it(lookup);
}

static void *look_up(void *argument)
{
    struct lookup *lookup = argument;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const uint64_t one = 1;

    lookup->error = getaddrinfo(lookup->name, NULL, &hints, &lookup->found);
    if (write(lookup->done_fd, &one, sizeof(one)) < 0)
        abort();
    lookup_release(lookup);
    return NULL;
}

struct lookup *lookup_start(const char *name)
{
    struct lookup *lookup = xcalloc(1, sizeof(*lookup));
    pthread_t thread;

    lookup->name = xstrdup(name);
    lookup->done_fd = eventfd(0, EFD_CLOEXEC);
    atomic_init(&lookup->users, 2);
    if (lookup->done_fd < 0 || pthread_create(&thread, NULL, look_up, lookup) != 0) {
        free_it(lookup);
        errno = EAGAIN;
        return NULL;
    }
    pthread_detach(thread);
    return lookup;
}

int lookup_wait(const struct lookup *lookup, int64_t deadline, int stop_fd)
{
    struct pollfd fds[] = {{.fd = lookup->done_fd, .events = POLLIN},
                           {.fd = stop_fd, .events = POLLIN}};

    poll(fds, 2, clock_poll_timeout(deadline));
    if (fds[0].revents)
        return lookup->error;
    errno = fds[1].revents ? EINTR : ETIMEDOUT;
    return EAI_SYSTEM;
}

const struct addrinfo *lookup_found(const struct lookup *lookup)
{
    return lookup->found;
}
