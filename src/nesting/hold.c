#include "nesting/hold.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "nesting/environment.h"
#include "nesting/holds.h"
#include "nesting/reentry_wire.h"
#include "process/helper.h"
#include "process/tree.h"

/* How long to wait for keepers that are busy with others. */
#define CONNECT_PATIENCE (10 * CLOCK_S)

/* How long to wait for the answer: a keeper releases the lock within seconds, unless stopped. */
#define ANSWER_PATIENCE (20 * CLOCK_S)

/*
 * Returns the process that adopts orphans of this one, the nearest subreaper or the first process;
 * -1 if that cannot be found out.  To find out, makes an orphan, which tells its new parent.
 */
static pid_t find_adopter(void)
{
    pid_t adopter = -1;
    char go = 0;
    int link;
    pid_t parent = helper_fork(&link, 0, NULL);

    if (parent < 0)
        return -1;
    if (parent == 0) {
        if (fork() == 0 && recv(link, &go, sizeof(go), 0) > 0) {
            adopter = getppid();
            send(link, &adopter, sizeof(adopter), MSG_NOSIGNAL);
        }
        _exit(0);
    }
    waitpid(parent, NULL, 0); /* where SIGCHLD is ignored, this fails once it has ended */
    send(link, &go, sizeof(go), MSG_NOSIGNAL);
    if (recv(link, &adopter, sizeof(adopter), 0) != sizeof(adopter))
        adopter = -1;
    close(link);
    return adopter;
}

/*
 * Returns whether the parent has called this zkflock and will go on; else prints why not.  A parent
 * that adopts orphans may have adopted this process; no other parent can have.  A subshell, as in
 * $( ) and ( ), may end at once, and the lock with it.
 */
static bool is_certain(pid_t parent)
{
    pid_t adopter = find_adopter();

    if (parent <= 1 || adopter < 0 || getppid() != parent || parent == adopter)
        log_error("--hold: cannot tell which process called zkflock; name it with --for PID, in a "
                  "script --for $$");
    else if (process_is_bare_fork(parent))
        log_error(
            "--hold: process %d, which has called zkflock, is a subshell, and may end at once; "
            "name the process to hold the lock for with --for PID, in a script --for $$",
            (int)parent);
    else
        return true;
    return false;
}

/* Returns whether the process has ended; it may still have its number. */
static bool has_ended(int pidfd)
{
    struct pollfd end = {.fd = pidfd, .events = POLLIN};

    return poll(&end, 1, 0) > 0;
}

static void name_caller(struct hold *hold, pid_t caller)
{
    snprintf(hold->name, sizeof(hold->name), "process %d", (int)caller);
    hold->command[0] = hold->name;
}

int hold_start_own(struct hold *hold)
{
    pid_t self = getpid();

    *hold = (struct hold){.caller_fd = (int)syscall(SYS_pidfd_open, self, 0)};
    name_caller(hold, self);
    if (self == 1)
        return log_failure(EXITCODE_USAGE,
                           "--no-fork: zkflock is process 1 here, with which all others end; leave "
                           "--no-fork out");
    if (hold->caller_fd < 0 || !procid_of(self, &hold->caller))
        return log_failure(EXITCODE_OSERR, "cannot start: %s", strerror(errno));
    tree_add_caller(&hold->caller, hold->caller_fd);
    return 0;
}

int hold_start(struct hold *hold, pid_t pid)
{
    pid_t caller = pid ? pid : getppid();
    int caller_fd = (int)syscall(SYS_pidfd_open, caller, 0);
    int error = caller_fd < 0 ? errno : 0;

    *hold = (struct hold){.caller_fd = caller_fd, .exported = environment_exported()};
    if (pid == 0 && !is_certain(caller))
        return EXITCODE_USAGE;
    name_caller(hold, caller);
    if (caller == 1) {
        log_error("--hold: process 1 adopts whatever loses its parent, and all of that would be "
                  "ended if the lock were lost; zkflock LOCK COMMAND holds it for a command");
        return EXITCODE_USAGE;
    }
    if (caller == getpid()) {
        log_error("--hold: process %d is this zkflock itself, which ends when the lock is held",
                  (int)caller);
        return EXITCODE_USAGE;
    }
    if (error && error != ESRCH && error != EINVAL) {
        log_error("--hold: process %d cannot be watched: %s", (int)caller, strerror(error));
        return EXITCODE_OSERR;
    }
    if (error || !procid_of(caller, &hold->caller) || has_ended(hold->caller_fd)) {
        log_error("--hold: there is no process %d to hold a lock for", (int)caller);
        return EXITCODE_USAGE;
    }
    if (kill(caller, 0) < 0) {
        log_error("--hold: process %d is another user's, and could not be ended if the lock were "
                  "lost",
                  (int)caller);
        return EXITCODE_NOPERM;
    }
    tree_add_caller(&hold->caller, hold->caller_fd);
    return 0;
}

void hold_detach(const struct hold *hold, const struct front *front)
{
    int kept[] = {front->link, front->signal_fd, hold->caller_fd};

    helper_detach_descriptors(kept, sizeof(kept) / sizeof(kept[0]));
    tree_spare_session();
}

/* ---- --unlock ---- */

struct wanted {
    const char *path;
    const char *servers;
    enum reentry_answer answer;
    bool together; /* a hold has the lock as --with of another one */
    char *name;    /* the socket of the keeper that was asked last */
};

/*
 * Asks a keeper to release the lock.  Returns whether it holds the lock, or may.  It answers when
 * the lock is released; a keeper that is killed hangs up.
 */
static bool ask(int fd, enum reentry_holder kind, bool own, const char *name, void *context)
{
    struct wanted *wanted = context;

    if (!own || kind != REENTRY_CALLER || !wire_ask_unlock(fd, wanted->path, wanted->servers))
        return false; /* no hold of this user's, or it has just ended */
    wanted->answer = wire_read_answer(fd, -1, clock_now() + ANSWER_PATIENCE, NULL);
    wanted->together = wanted->together || wanted->answer == REENTRY_TOGETHER;
    xreplace(&wanted->name, xstrdup(name));
    return wanted->answer == REENTRY_UNLOCKED || wanted->answer == REENTRY_IN_USE ||
           wanted->answer == REENTRY_STUCK || wanted->answer == REENTRY_SILENT;
}

static int give_back(const struct options *options, struct wanted *wanted)
{
    /* Only -z counts: other settings may have changed since the lock was acquired. */
    const struct setting *servers = settings_find(&options->settings, CHOICE_SERVERS, NULL);
    const char *whom = options->hold_for ? "that process" : "this script";

    wanted->servers = options->typed[CHOICE_SERVERS] ? servers->text : "";
    if (!holds_find(options->hold_for, clock_now() + CONNECT_PATIENCE, ask, wanted)) {
        if (wanted->together)
            log_notice("%s is held for %s as --with of another lock: --unlock that one, and all "
                       "are released",
                       options->lock, whom);
        else
            log_notice("%s is not held for %s%s%s: there is nothing to unlock", options->lock, whom,
                       *wanted->servers ? " at " : "", wanted->servers);
        return EXITCODE_BUSY;
    }
    if (wanted->answer == REENTRY_IN_USE)
        log_notice("%s is used by a zkflock inside %s, and released when that has ended",
                   options->lock, whom);
    if (wanted->answer == REENTRY_SILENT) {
        log_error("the zkflock that holds a lock for %s does not answer; it may hold %s", whom,
                  options->lock);
        return EXITCODE_UNREACHABLE;
    }
    if (wanted->answer != REENTRY_STUCK)
        return 0;
    log_error("no answer from the ensemble: %s could not be released; it is held for %s no more, "
              "and comes free when the session expires",
              options->lock, whom);
    return EXITCODE_UNREACHABLE;
}

int hold_unlock(const struct options *options)
{
    struct wanted wanted = {.path = options->lock, .answer = REENTRY_UNKNOWN};
    int status = give_back(options, &wanted);

    /* Even if the lock could not be released, it is no longer held for the script. */
    if (options->hold_export && (status == 0 || wanted.answer == REENTRY_STUCK) &&
        !environment_take_back(options->lock, wanted.name))
        status = EXITCODE_OSERR;
    if (options->hold_export && status)
        environment_print_failure(status);
    free(wanted.name);
    return status;
}
