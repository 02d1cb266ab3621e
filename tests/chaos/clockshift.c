/*
 * Clocks that jump, for the programs that this is preloaded into: the file that $CHAOS_CLOCK names
 * holds two 64-bit numbers of nanoseconds, added to the wall clock and to CLOCK_BOOTTIME.
 *
 * CLOCK_BOOTTIME jumps when a machine wakes up from a suspend; CLOCK_MONOTONIC does not.  Timers
 * that are set to a time of CLOCK_BOOTTIME are set back to the kernel's idea of it; one that is
 * running when the clock jumps rings late, which no real one does.
 *
 * Each process that is told a shifted time writes its name and by how many seconds to the file
 * that $CHAOS_CLOCK_SEEN names, if it does.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

/* Where a long has 32 bits, the build has a time_t of 64, and the kernel other calls for it. */
#ifdef SYS_clock_gettime64
#define CLOCK_GETTIME SYS_clock_gettime64
#define TIMERFD_SETTIME SYS_timerfd_settime64
#else
#define CLOCK_GETTIME SYS_clock_gettime
#define TIMERFD_SETTIME SYS_timerfd_settime
#endif

enum { WALL, BOOT };

static const volatile int64_t *offsets;

__attribute__((constructor)) static void open_offsets(void)
{
    const char *path = getenv("CHAOS_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        return;
    void *map = mmap(NULL, 2 * sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);

    close(fd);
    if (map != MAP_FAILED)
        offsets = map;
}

static void tell(int64_t by)
{
    static bool told;
    const char *path = getenv("CHAOS_CLOCK_SEEN");

    if (told || !path)
        return;
    told = true;

    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

    if (fd < 0)
        return;
    dprintf(fd, "%s %" PRId64 "\n", program_invocation_short_name, by / SECOND);
    close(fd);
}

static void shift(struct timespec *t, int64_t by)
{
    int64_t ns = (int64_t)t->tv_sec * SECOND + t->tv_nsec + by;

    t->tv_sec = ns / SECOND;
    t->tv_nsec = (long)(ns % SECOND);
    tell(by);
}

/* The C library's own names for its parameters are reserved ones.
   NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

int clock_gettime(clockid_t clock, struct timespec *t)
{
    int result = (int)syscall(CLOCK_GETTIME, clock, t);

    if (result == 0 && offsets && clock == CLOCK_REALTIME)
        shift(t, offsets[WALL]);
    else if (result == 0 && offsets && clock == CLOCK_BOOTTIME)
        shift(t, offsets[BOOT]);
    return result;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    struct timespec wall;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &wall);
    t->tv_sec = wall.tv_sec;
    t->tv_usec = wall.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *t)
{
    struct timespec wall;

    clock_gettime(CLOCK_REALTIME, &wall);
    if (t)
        *t = wall.tv_sec;
    return wall.tv_sec;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *value, struct itimerspec *old)
{
    struct itimerspec real = *value;

    if (offsets && (flags & TFD_TIMER_ABSTIME) && (value->it_value.tv_sec > 1))
        shift(&real.it_value, -offsets[BOOT]);
    return (int)syscall(TIMERFD_SETTIME, fd, flags, &real, old);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
