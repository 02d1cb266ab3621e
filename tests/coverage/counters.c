/*
 * Linked into zkflock by `make coverage` alone: keeps gcov's counters in a file that all processes
 * of all runs share.  gcov writes the counters when a process exits, but most processes of zkflock
 * end by _exit(), exec or SIGKILL.  A shared mapping has each count at once, whatever ends the
 * process, and costs a run an open(), an mmap() and a close() at its start.
 *
 * A run that cannot open the file, in another root or without descriptors, say, is not counted.
 *
 * COVERAGE_WRITE=1 zkflock  writes the counters of the file as gcov does, and ends.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef COUNTERS
#define COUNTERS "counters"
#endif

/* See counters.ld. */
extern char counters_begin[], counters_end[];

void __gcov_dump(void); /* as in gcov.h, which is gcc's alone */

/* Called in the place of __gcov_exit(), which writes the counters when a process exits. */
void __wrap___gcov_exit(void);
void __wrap___gcov_exit(void)
{
}

/* Runs behind gcov's own constructors, which have priorities, and before main(). */
__attribute__((constructor)) static void share_counters(void)
{
    const char *write = getenv("COVERAGE_WRITE");
    int fd = open(COUNTERS, O_RDWR | O_CLOEXEC);
    bool shared =
        fd >= 0 && mmap(counters_begin, (size_t)(counters_end - counters_begin),
                        PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;

    if (fd >= 0)
        close(fd);
    if (write && strcmp(write, "1") == 0) {
        __gcov_dump();
        _exit(shared ? 0 : 1);
    }
}
