/*
 * zkflock: flock(1) for clusters.
 *
 *     zkflock [options] LOCK COMMAND [ARG]...
 */
#include "command.h"
#include "exitcode.h"
#include "keeper.h"
#include "options.h"

#include <stdlib.h>

/* Takes the lock, runs the command, gives the lock back; returns the status to exit with. */
static int run_under_lock(const struct options *options, struct command *command)
{
    struct keeper *keeper = keeper_start(options, command);

    if (!keeper)
        return EXITCODE_OSERR;
    if (keeper_connect(keeper) && keeper_acquire(keeper))
        keeper_run(keeper);
    return keeper_give_back(keeper);
}

int main(int argc, char **argv)
{
    struct options options;
    struct command command = {0};
    bool done;
    int status = options_parse(&options, argc, argv, &done);

    if (status == 0 && !done) {
        command.argv = options.command;
        status = (int)command_find(&command);
        if (status == 0)
            status = run_under_lock(&options, &command);
    }
    free(command.file);
    options_release(&options);
    return status;
}
