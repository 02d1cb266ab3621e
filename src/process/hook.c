#include "process/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "process/guard.h"
#include "process/helper.h"

/* How long to wait for a hook that was killed: one that hangs in the kernel does not die. */
#define KILL_PATIENCE CLOCK_S

/* The runner's end of the link. */
#define RUNNER_LINK 3

static const char *const event_names[] = {
    [HOOK_WAITING] = "waiting", [HOOK_ACQUIRED] = "acquired", [HOOK_RELEASED] = "released",
    [HOOK_LOST] = "lost",       [HOOK_SKIPPED] = "skipped",   [HOOK_BUSY] = "busy",
};

struct message {
    int32_t event;
    int32_t status;             /* RELEASED */
    int64_t token;              /* ACQUIRED */
    char node[GUARD_NODE_SIZE]; /* ACQUIRED */
};

enum exitcode hook_find(struct hook *hook, const char *text)
{
    *hook = (struct hook){.text = text, .link = -1};
    if (!text)
        return 0;
    if (strpbrk(text, " \t\n")) {
        hook->script = xasprintf("%s \"$1\"", text);
        hook->words[0] = hook->words[3] = (char *)"/bin/sh";
        hook->words[1] = (char *)"-c";
        hook->words[2] = hook->script;
        hook->event_word = &hook->words[4];
    } else {
        hook->words[0] = (char *)text;
        hook->event_word = &hook->words[1];
    }
    hook->command = (struct command){.role = "hook", .argv = hook->words};
    return command_find(&hook->command);
}

/* ---- the runner's process ---- */

/* Returns whether the hook has ended, with its *wait_status, by the deadline. */
static bool await(pid_t pid, int64_t deadline, int *wait_status)
{
    sigset_t child;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    while (waitpid(pid, wait_status, WNOHANG) != pid) {
        int64_t left = deadline - clock_now();
        const struct timespec span = clock_timespec(left);

        if (left <= 0)
            return false;
        sigtimedwait(&child, NULL, &span);
    }
    return true;
}

/* Warns if the hook has failed.  From the pipe failure comes errno if it was not executed. */
static void judge(const struct hook *hook, int failure, bool in_time, int wait_status)
{
    const char *event = *hook->event_word;
    char limit[CLOCK_FORMAT_SIZE];
    int error;

    if (!in_time)
        log_warning("the hook %s failed at \"%s\": killed after %s", hook->text, event,
                    clock_format(HOOK_LIMIT, limit));
    else if (read(failure, &error, sizeof(error)) == sizeof(error))
        log_warning("the hook %s failed at \"%s\": %s", hook->text, event, strerror(error));
    else if (WIFSIGNALED(wait_status))
        log_warning("the hook %s failed at \"%s\": signal %d (%s)", hook->text, event,
                    WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
    else if (WEXITSTATUS(wait_status) != 0)
        log_warning("the hook %s failed at \"%s\": status %d", hook->text, event,
                    WEXITSTATUS(wait_status));
}

static void run(const struct hook *hook)
{
    int failure[2];
    int wait_status = 0;
    pid_t self = getpid();
    pid_t pid = -1;

    if (pipe2(failure, O_CLOEXEC | O_NONBLOCK) < 0 || (pid = fork()) < 0) {
        log_warning("the hook %s failed at \"%s\": %s", hook->text, *hook->event_word,
                    strerror(errno));
        return;
    }
    if (pid == 0)
        command_become(&hook->command, self, failure[1], 0);
    close(failure[1]);

    bool in_time = await(pid, clock_now() + HOOK_LIMIT, &wait_status);

    if (!in_time) {
        kill(-pid, SIGKILL);
        kill(pid, SIGKILL); /* it may not have a group of its own yet */
        await(pid, clock_now() + KILL_PATIENCE, &wait_status);
    }
    judge(hook, failure[0], in_time, wait_status);
    close(failure[0]);
}

static void export_number(const char *name, int64_t number)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, number);
    setenv(name, text, 1);
}

static void export_news(const struct message *message)
{
    if (message->event == HOOK_ACQUIRED) {
        setenv("ZKFLOCK_NODE", message->node, 1);
        export_number("ZKFLOCK_TOKEN", message->token);
    } else if (message->event == HOOK_RELEASED) {
        export_number("ZKFLOCK_STATUS", message->status);
    }
}

/* Keeps the caller's stdout and stderr, an empty stdin and the link, and closes all others. */
static void arrange_descriptors(int link)
{
    int empty = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (empty < 0 || dup2(empty, STDIN_FILENO) < 0 ||
        (link != RUNNER_LINK && dup3(link, RUNNER_LINK, O_CLOEXEC) < 0))
        _exit(EXITCODE_OSERR);
    closefrom(RUNNER_LINK + 1);
}

static _Noreturn void runner_process(struct hook *hook, int link, const char *lock_path)
{
    struct message message;

    setpgid(0, 0);
    arrange_descriptors(link);
    if (hook->command.hold)
        helper_detach_output();
    /* A zkflock around this one may have set them for another lock. */
    unsetenv("ZKFLOCK_NODE");
    unsetenv("ZKFLOCK_TOKEN");
    unsetenv("ZKFLOCK_STATUS");
    setenv("ZKFLOCK_LOCK", lock_path, 1);
    while (recv(RUNNER_LINK, &message, sizeof(message), 0) == sizeof(message)) {
        export_news(&message);
        *hook->event_word = (char *)event_names[message.event];
        run(hook);
    }
    _exit(0);
}

/* ---- for the keeper ---- */

int hook_start(struct hook *hook, const struct command *command, const char *lock_path)
{
    int link;

    if (!hook->text)
        return 0;
    hook->command.inherited = command->inherited;
    hook->command.hold = command->hold;
    hook->command.inherited.leads_group = true;
    hook->pid = helper_fork(&link, 0, "lock-hook");
    if (hook->pid == 0)
        runner_process(hook, link, lock_path);
    if (hook->pid < 0)
        return -1;
    hook->link = link;
    return 0;
}

static bool was_told(const struct hook *hook, enum hook_event event)
{
    return hook->told & 1u << event;
}

static void tell(struct hook *hook, const struct message *message)
{
    enum hook_event event = (enum hook_event)message->event;

    if (hook->link < 0 || was_told(hook, event))
        return;
    hook->told |= 1u << event;
    if (send(hook->link, message, sizeof(*message), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        log_debug("the runner of the hook is dead");
}

void hook_tell(struct hook *hook, enum hook_event event)
{
    const struct message message = {.event = (int32_t)event};

    tell(hook, &message);
}

void hook_tell_released(struct hook *hook, int status)
{
    const struct message message = {.event = HOOK_RELEASED, .status = status};

    if (was_told(hook, HOOK_ACQUIRED) && !was_told(hook, HOOK_LOST))
        tell(hook, &message);
}

void hook_tell_acquired(struct hook *hook, const char *node, int64_t token)
{
    struct message message = {.event = HOOK_ACQUIRED, .token = token};

    strncpy(message.node, node, sizeof(message.node) - 1);
    tell(hook, &message);
}

void hook_end(struct hook *hook)
{
    struct pollfd fd = {.fd = hook->link}; /* POLLHUP, when the runner has ended, needs no events */
    /* The longest that the runner can take, unless it is stopped. */
    int64_t limit = __builtin_popcount(hook->told) * (HOOK_LIMIT + KILL_PATIENCE) + KILL_PATIENCE;

    if (hook->link < 0)
        return;
    shutdown(hook->link, SHUT_WR);
    if (poll(&fd, 1, clock_poll_timeout(clock_now() + limit)) == 1)
        waitpid(hook->pid, NULL, 0);
    close(hook->link);
    hook->link = -1;
}

void hook_release(struct hook *hook)
{
    free(hook->command.file);
    free(hook->script);
}
