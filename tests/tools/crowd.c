/*
 * crowd N: a command of N processes that ignore TERM.  Makes the file "crowd" when all are there.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int wanted = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    pid_t pid = 1;

    signal(SIGTERM, SIG_IGN);
    for (int i = 1; i < wanted && pid > 0; i++)
        pid = fork();
    if (pid < 0)
        return 71;
    if (pid > 0)
        close(open("crowd", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    for (;;)
        pause();
}
