#include "ensemble/handle.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* zookeeper_close() itself sends for 3 s and then waits for the server for 1.5 s, at the most. */
#define CLOSE_PATIENCE (5 * CLOCK_S)

/* From then on its sockets are shut down, again and again: it may open others. */
#define CUT_AFTER (2 * CLOCK_S)
#define CUT_INTERVAL (100 * CLOCK_MS)

/* A thread that has been joined may still be counted for so long. */
#define THREAD_LINGERS (100 * CLOCK_MS)

/* ---- are there threads? ---- */

struct probe {
    pthread_t thread;
    atomic_int tid;
    pthread_mutex_t *gate;
};

static void *pass_gate(void *argument)
{
    struct probe *probe = argument;

    probe->tid = gettid();
    pthread_mutex_lock(probe->gate);
    pthread_mutex_unlock(probe->gate);
    return NULL;
}

/* The kernel counts a thread until its number is free, which may be after pthread_join(). */
static void await_end(pid_t tid)
{
    int64_t deadline = clock_now() + THREAD_LINGERS;

    while (tgkill(getpid(), tid, 0) == 0 && clock_now() < deadline)
        sched_yield();
}

static bool start_two(void)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    struct probe probes[2];
    int started = 0;

    pthread_mutex_lock(&gate);
    while (started < 2) {
        struct probe *probe = &probes[started];

        probe->gate = &gate;
        if (pthread_create(&probe->thread, NULL, pass_gate, probe) != 0)
            break;
        started++;
    }
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < started; i++)
        pthread_join(probes[i].thread, NULL);
    for (int i = 0; i < started; i++)
        await_end(probes[i].tid);
    pthread_mutex_destroy(&gate);
    return started == 2;
}

bool handle_threads_available(void)
{
    int64_t deadline = clock_now() + THREAD_LINGERS;

    /* Those of a handle that was closed just now may still be counted. */
    while (!start_two()) {
        if (clock_now() >= deadline)
            return false;
        sched_yield();
    }
    return true;
}

/* ---- closing ---- */

/*
 * zookeeper_close() sets the flag that has the library's two threads end before it counts itself
 * among the handle's users.  If it is interrupted in between until both have ended, the last of
 * them frees the handle that is being closed (zookeeper.c, mt_adaptor.c; 3.8 and later).  So this
 * thread counts itself before, as the library's own calls do.  The shared library does not export
 * the two.
 */
void api_prolog(zhandle_t *handle) __attribute__((weak));
int api_epilog(zhandle_t *handle, int rc) __attribute__((weak));

static void close_counted(zhandle_t *handle)
{
    bool counted = api_prolog && api_epilog;

    if (counted)
        api_prolog(handle);
    zookeeper_close(handle);
    if (counted)
        api_epilog(handle, ZOK);
}

static void *close_it(void *handle)
{
    close_counted(handle);
    return NULL;
}

static bool joined_within(pthread_t thread, int64_t span)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until = clock_timespec(until.tv_sec * CLOCK_S + until.tv_nsec + span);
    return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) == 0;
}

bool handle_close(zhandle_t *handle, struct failover *failover)
{
    int64_t begun = clock_now();
    int64_t cut_at = begun + CUT_AFTER;
    pthread_t closer;

    if (!handle)
        return true;
    if (zoo_state(handle) == ZOO_READONLY_STATE) {
        failover_cut(failover, false);
        cut_at = begun;
    }
    if (pthread_create(&closer, NULL, close_it, handle) != 0) {
        close_counted(handle); /* its connections are cut, if that is called for */
        return true;
    }
    while (!joined_within(closer, CUT_INTERVAL)) {
        int64_t now = clock_now();

        if (now >= begun + CLOSE_PATIENCE)
            return false;
        if (now >= cut_at)
            failover_cut(failover, false);
    }
    return true;
}
