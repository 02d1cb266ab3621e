/* zkflock: flock(1) for clusters.  usage.c has its command lines. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "admin/break.h"
#include "admin/remove.h"
#include "base/clock.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "cli/arguments.h"
#include "keeper/keeper.h"
#include "list/list.h"
#include "nesting/environment.h"
#include "nesting/hold.h"
#include "process/command.h"
#include "process/front.h"
#include "process/helper.h"
#include "process/hook.h"

/*
 * Opens a stand-in for a closed stdin, stdout or stderr, whose number the next descriptor opened
 * would get.  The stand-in is close-on-exec, so that the command finds it closed as the caller left
 * it, and refuses output, so that zkflock notices what it cannot write.
 */
static void fill_standard_descriptors(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY | O_CLOEXEC) != fd)
            return;
}

/* Takes the lock, runs the command, gives the lock back; returns the status to exit with. */
static int run_under_lock(const struct options *options, const struct command *command,
                          struct hook *hook, struct front *front, struct keeper_times *times)
{
    struct keeper *keeper = keeper_start(options, command, hook, front);

    if (!keeper)
        return EXITCODE_OSERR;
    while (!(keeper_connect(keeper) && keeper_acquire(keeper) && keeper_is_due(keeper)))
        if (!keeper_try_again(keeper))
            return keeper_give_back(keeper, times);
    keeper_run(keeper);
    keeper_note_success(keeper);
    return keeper_give_back(keeper, times);
}

/* Finds what the lock is for: a command, an existing process, or a process that becomes one. */
static int find_use(const struct options *options, struct command *command, struct hold *hold)
{
    int status = 0;

    if (ACTIONS_TAKE_COMMAND & 1 << options->action)
        status = (int)command_find(command);
    if (status || options->action == ACTION_RUN)
        return status;
    command->hold = hold;
    command->in_place = options->action == ACTION_NO_FORK;
    if (command->in_place)
        return hold_start_own(hold);
    status = hold_start(hold, options->hold_for);
    command->argv = hold->command;
    return status;
}

static void tell_exit(int status, const struct keeper_times *times)
{
    const bool waited = times->waited >= 0;
    const bool held = times->held != KEEPER_NEVER_HELD;
    const struct log_field fields[] = {
        {"status", LOG_NUMBER, .number = status},
        {"waited_s", waited ? LOG_SPAN : LOG_END, .number = times->waited},
        {"held_s", held ? LOG_SPAN : LOG_END, .number = times->held},
        {0}};
    char a[CLOCK_FORMAT_SIZE];
    char b[CLOCK_FORMAT_SIZE];

    log_event(LOG_EXIT, fields, "exit %d%s%s%s%s", status, waited ? ": waited " : "",
              waited ? clock_format(times->waited, a) : "", held ? ", held " : "",
              held ? clock_format(times->held, b) : "");
}

static int run(const struct options *options)
{
    struct command command = {.role = "command", .argv = options->command};
    struct hook hook;
    struct hold hold = {0};
    struct front front;
    struct keeper_times times = {.waited = -1, .held = KEEPER_NEVER_HELD};
    int status = (int)hook_find(&hook, options->hook);

    if (status == 0)
        status = find_use(options, &command, &hold);
    if (status == 0 &&
        front_start(&front, &command, options->hold_export ? environment_print_failure : NULL) < 0)
        status = log_failure(EXITCODE_OSERR, "cannot start: %s", strerror(errno));
    if (status) {
        if (options->hold_export)
            environment_print_failure(status);
        goto done;
    }
    if (command.hold)
        hold_detach(command.hold, &front);
    status = run_under_lock(options, &command, &hook, &front, &times);
    front_end(&front, status);
done:
    tell_exit(status, &times);
    hook_release(&hook);
    free(hold.exported);
    free(command.file);
    return status;
}

static int act(const struct options *options)
{
    fill_standard_descriptors();
    switch (options->action) {
    case ACTION_UNLOCK:
        return hold_unlock(options);
    case ACTION_LIST:
        return list(options);
    case ACTION_REVOKE:
    case ACTION_BREAK:
        return break_lock(options);
    case ACTION_REMOVE:
        return remove_lock(options);
    default:
        return run(options);
    }
}

/*
 * Refuses to run with more rights than the caller's: the caller chooses the command, the hook and
 * the ensemble, and so could do anything with those rights.
 */
static bool has_rights_of_others(void)
{
    if (!getauxval(AT_SECURE))
        return false;
    log_error(
        "not permitted with more rights than the caller's: zkflock must have no set-user-ID "
        "or set-group-ID bit and no file capabilities (chmod ug-s, setcap -r), and its caller "
        "one user ID and one group ID");
    return true;
}

int main(int argc, char **argv)
{
    struct options options;
    bool done;
    int status;

    if (has_rights_of_others())
        return EXITCODE_NOPERM;
    status = arguments_parse(&options, argc, helper_copy_argv(argc, argv), &done);
    if (status == 0 && !done)
        status = act(&options);
    else if (status && options.hold_export)
        environment_print_failure(status);
    options_release(&options);
    return status;
}
