/*
 * Takes a free lock and gives it back as zkflock does, by the same requests, and does nothing else.
 * The whole-process yardstick for zkflock on a free lock.
 *
 *     bare SERVERS LOCK      LOCK is a child of the root; made if it is missing
 */
#define THREADED
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include <zookeeper/zookeeper.h>

enum { SESSION_MS = 15000, DATA_MAX = 1024 };

/* As long as what zkflock writes. */
static const char OWN[] = "zkflock/1 waiting exclusive\nroot@host pid 12345: true\n"
                          "since=2026-01-01T00:00:00Z kind=exclusive lease=15000ms version=0.1.0\n";
static const char RECORD[] = "zkflock/1 base=0 lease=15000ms\n";
static const char NAME[] = "_c_00000000000000000000000000000000-lock-";

/* The znode in the queue, as the completion thread has it. */
static struct {
    sem_t done;
    int rc;
    char path[DATA_MAX];
} created;

static void ignore(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    (void)handle;
    (void)type;
    (void)state;
    (void)path;
    (void)context;
}

static void was_created(int rc, const char *path, const void *context)
{
    (void)context;
    created.rc = rc;
    if (rc == ZOK)
        snprintf(created.path, sizeof(created.path), "%s", path);
    sem_post(&created.done);
}

/* Joins the queue and reads the lock, in one flight.  Returns the library's code. */
static int join(zhandle_t *handle, const char *lock, struct Stat *stat)
{
    char name[DATA_MAX];
    char data[DATA_MAX];
    int len = sizeof(data);
    int rc;

    snprintf(name, sizeof(name), "%s/%s", lock, NAME);
    rc = zoo_acreate(handle, name, OWN, sizeof(OWN) - 1, &ZOO_OPEN_ACL_UNSAFE,
                     ZOO_EPHEMERAL_SEQUENTIAL, was_created, NULL);
    if (rc != ZOK)
        return rc;
    rc = zoo_get(handle, lock, 0, data, &len, stat);
    while (sem_wait(&created.done))
        ;
    return rc == ZOK ? created.rc : rc;
}

int main(int argc, char **argv)
{
    struct Stat stat;
    zoo_op_t leave[2];
    zoo_op_result_t results[2];
    int rc;

    if (argc != 3)
        return 64;
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    sem_init(&created.done, 0, 0);

    zhandle_t *handle = zookeeper_init(argv[1], ignore, SESSION_MS, NULL, NULL, 0);

    if (!handle)
        return 69;
    rc = join(handle, argv[2], &stat);
    if (rc == ZNONODE) {
        zoo_create(handle, argv[2], RECORD, sizeof(RECORD) - 1, &ZOO_OPEN_ACL_UNSAFE,
                   ZOO_PERSISTENT, NULL, 0);
        rc = join(handle, argv[2], &stat);
    }
    if (rc != ZOK)
        return 70;
    zoo_set_op_init(&leave[0], argv[2], RECORD, sizeof(RECORD) - 1, stat.version, NULL);
    zoo_delete_op_init(&leave[1], created.path, -1);
    if (zoo_multi(handle, 2, leave, results) != ZOK)
        return 70;
    zookeeper_close(handle);
    return 0;
}
