/*
 * The least that a hand-over between sessions can take: one deletes a znode, the other gets the
 * event and starts the command.
 *
 *     floor SERVERS PATH TURNS MS COMMAND...
 *
 * Idles for MS before each turn.  Prints the time before each delete, in ns of CLOCK_MONOTONIC; the
 * command stamps when it starts.
 */
#define THREADED
#include <err.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include <zookeeper/zookeeper.h>

enum { SESSION_MS = 15000 };

struct waiter {
    char **command;
    pid_t pid;
    sem_t started;
};

static void ignore(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    (void)handle;
    (void)type;
    (void)state;
    (void)path;
    (void)context;
}

/* Starts the command when the znode is gone. */
static void changed(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    struct waiter *waiter = context;

    (void)handle;
    (void)state;
    (void)path;
    if (type != ZOO_DELETED_EVENT)
        return;
    if (posix_spawnp(&waiter->pid, waiter->command[0], NULL, NULL, waiter->command, environ))
        err(71, "%s", waiter->command[0]);
    sem_post(&waiter->started);
}

static void deleted(int rc, const void *context)
{
    if (rc != ZOK)
        errx(70, "delete %s: %s", (const char *)context, zerror(rc));
}

static void turn(zhandle_t *holder, zhandle_t *queue, const char *path, long ms,
                 struct waiter *waiter)
{
    struct timespec now;
    int rc = zoo_create(holder, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, NULL, 0);

    if (rc != ZOK)
        errx(70, "create %s: %s", path, zerror(rc));
    /* In an ensemble the other server may be behind. */
    do
        rc = zoo_wexists(queue, path, changed, waiter, NULL);
    while (rc == ZNONODE);
    if (rc != ZOK)
        errx(70, "watch %s: %s", path, zerror(rc));
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
    clock_gettime(CLOCK_MONOTONIC, &now);
    zoo_adelete(holder, path, -1, deleted, path);
    while (sem_wait(&waiter->started))
        ;
    waitpid(waiter->pid, NULL, 0);
    printf("%lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
}

int main(int argc, char **argv)
{
    struct waiter waiter = {.command = argv + 5};

    if (argc < 6)
        return 64;
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    sem_init(&waiter.started, 0, 0);

    zhandle_t *holder = zookeeper_init(argv[1], ignore, SESSION_MS, NULL, NULL, 0);
    zhandle_t *queue = zookeeper_init(argv[1], ignore, SESSION_MS, NULL, NULL, 0);

    if (!holder || !queue)
        return 69;
    for (long left = strtol(argv[3], NULL, 10); left > 0; left--)
        turn(holder, queue, argv[2], strtol(argv[4], NULL, 10), &waiter);
    zookeeper_close(queue);
    zookeeper_close(holder);
    return 0;
}
