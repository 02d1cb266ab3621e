/*
 * The command that is measured: notes when it starts and ends.
 *
 *     stamp FILE MS [GATE]
 *
 * Makes FILE, waits until the file GATE exists, sleeps for MS, and appends a line "START END" to
 * FILE, in ns of CLOCK_MONOTONIC.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (long long)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

int main(int argc, char **argv)
{
    long long start = now();

    if (argc < 3)
        return 64;

    int file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (file < 0)
        return 73;
    while (argc > 3 && access(argv[3], F_OK))
        pause_ms(5);
    pause_ms(strtol(argv[2], NULL, 10));
    return dprintf(file, "%lld %lld\n", start, now()) < 0 ? 74 : 0;
}
