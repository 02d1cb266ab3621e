#include "keeper/keeper_parts.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "ensemble/close_request.h"
#include "keeper/status_line.h"
#include "lock/contender.h"
#include "process/helper.h"
#include "process/tree.h"

/* How long to try to give a lock back, at the most; then its session has to expire. */
#define GIVE_BACK_PATIENCE (5 * CLOCK_S)

/*
 * How long to do nothing after the release if others are in the queue.  The next command starts
 * meanwhile.  The end of the session would delay it: a server that stands alone answers the next
 * holder's reads only after it has synced that end.  So would the end of this one's processes.
 */
#define COURTESY (5 * CLOCK_MS)

/* Lets a zkflock inside the command in as this one is.  Returns false with errno. */
static bool share_access(const struct options *options)
{
    const struct access_terms *access = &options->access;
    const char *const variables[][2] = {
        {AUTH_FILE_VARIABLE, access->auth_file},      {ACCESS_TLS_VARIABLE, options_tls(options)},
        {ACCESS_CACERT_VARIABLE, access->tls.cacert}, {ACCESS_CERT_VARIABLE, access->tls.cert},
        {ACCESS_KEY_VARIABLE, access->tls.key},
    };

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        if ((variables[i][1] ? setenv(variables[i][0], variables[i][1], 1)
                             : unsetenv(variables[i][0])) < 0)
            return false;
    return true;
}

/* Tells those who look at the lock what it is for. */
static void introduce(const struct options *options, char *const *argv)
{
    const char *show = options_show_command(options);
    char *const name[] = {argv[0], NULL};
    char *const text[] = {(char *)(strcmp(show, "none") == 0 ? "-" : show), NULL};

    contender_introduce(strcmp(show, "full") == 0 ? argv : strcmp(show, "name") == 0 ? name : text);
}

struct keeper *keeper_start(const struct options *options, const struct command *command,
                            struct hook *hook, struct front *front)
{
    struct keeper *keeper;

    errno = 0;
    if (!tree_visible()) {
        if (errno == EMFILE || errno == ENFILE) {
            log_error("cannot start: %s", strerror(errno));
            return NULL;
        }
        log_error("cannot read /proc, without which a command could not be ended for sure when its "
                  "lock is lost; mount it");
        return NULL;
    }
    log_set_before_write(status_line_clear);
    introduce(options, command->argv);
    keeper = xcalloc(1, sizeof(*keeper));
    keeper->options = options;
    keeper->command = command;
    keeper->hook = hook;
    keeper->front = front;
    keeper->hold = command->hold;
    keeper->begun_at = clock_now();
    keeper->late_at = clock_add(keeper->begun_at, options->deadline);
    keeper->outcome.tries_left = options->retries;
    keeper_begin_try(keeper, keeper->begun_at);
    keeper->legacy = legacy_new();

    const struct guard_mandate mandate = {.command = command,
                                          .lock_path = options->lock,
                                          .servers = options->servers,
                                          .access = &options->access,
                                          .legacy = keeper->legacy,
                                          .signal = options->signal,
                                          .on_lost = options->on_lost,
                                          .caller = keeper->hold ? keeper->hold->caller.pid : 0,
                                          .caller_fd = keeper->hold ? keeper->hold->caller_fd : -1,
                                          .front_link = front->link,
                                          .whole_tree = options->tree};

    /*
     * A zkflock inside the command means the same ensemble, as the same client.  The guard first:
     * the runner keeps no descriptor of others open, the guard would.
     */
    if (!keeper->legacy || setenv(SERVERS_VARIABLE, servers_text(options->servers), 1) < 0 ||
        !share_access(options) || guard_start(&keeper->guard, &mandate) < 0 ||
        hook_start(hook, command, options->lock) < 0) {
        log_error("cannot start: %s", strerror(errno));
        keeper_hang_up(keeper);
        free(keeper);
        return NULL;
    }
    if (keeper->hold)
        helper_detach_directory();
    tree_reserve();
    front_introduce(front, keeper->guard.pid);
    return keeper;
}

/* ---- the end ---- */

static void leave_queue(struct keeper *keeper)
{
    int64_t deadline =
        clock_now() + clock_earlier(GIVE_BACK_PATIENCE, keeper->options->connect_timeout);
    bool held = keeper->tenure.state != TENURE_NOT_HELD;

    lockset_leave(keeper->try.locks);
    while (lockset_phase(keeper->try.locks) == LOCK_LEAVING && clock_now() < deadline)
        keeper_pump(keeper, deadline);
    if (lockset_phase(keeper->try.locks) == LOCK_LEAVING && lockset_has_node(keeper->try.locks))
        log_warning("no answer from the ensemble: %s%s could not be %s when the session expires, "
                    "in %d s at the most, or so long after the ensemble works again",
                    held ? "" : "the place in the queue of ", keeper->options->lock,
                    held ? "released; it comes free" : "given up; its znode is deleted",
                    (session_timeout_ms(keeper->try.session) + 999) / 1000);
    else if (lockset_phase(keeper->try.locks) == LOCK_LEFT && keeper->tenure.state == TENURE_HELD)
        keeper_tell_released(keeper);
}

static struct keeper_times times_of(const struct keeper *keeper)
{
    const struct keeper_tenure *tenure = &keeper->tenure;
    int64_t now = clock_now();
    int64_t until = tenure->state == TENURE_HELD ? now : tenure->until;

    if (tenure->state == TENURE_NOT_HELD)
        return (struct keeper_times){.waited = now - keeper->begun_at, .held = KEEPER_NEVER_HELD};
    return (struct keeper_times){.waited = tenure->since - keeper->begun_at,
                                 .held = until - tenure->since};
}

static bool has_something_to_give_back(const struct keeper *keeper)
{
    if (!keeper->try.locks || !session_withhold(keeper->try.session))
        return false; /* without a session there is no znode, nor will there be one */
    /* A lock that is lost for want of contact is not given back by waiting for contact. */
    return !keeper->run.lost || session_connected(keeper->try.session);
}

static bool is_given_back(const struct keeper *keeper)
{
    return !keeper->try.locks || lockset_phase(keeper->try.locks) == LOCK_LEFT;
}

int keeper_give_back(struct keeper *keeper, struct keeper_times *times)
{
    int status = keeper->outcome.status;
    int connection;

    front_tell_status(keeper->front, status); /* it counts even if the keeper is killed now */
    keeper_close_reentry(keeper);
    if (has_something_to_give_back(keeper))
        leave_queue(keeper);
    *times = times_of(keeper);
    if (is_given_back(keeper))
        hook_tell_released(keeper->hook, status);
    if (keeper->try.locks && lockset_is_awaited(keeper->try.locks))
        poll(NULL, 0, clock_poll_timeout(clock_now() + COURTESY));
    front_forsake(keeper->front);
    guard_order(&keeper->guard, GUARD_DISMISS, 0);
    if (keeper->users.reentry)
        reentry_unlocked(keeper->users.reentry, is_given_back(keeper));
    connection = keeper_detach(keeper);
    close(keeper->guard.link);
    if (!keeper->news.guard_dead) {
        kill(keeper->guard.pid, SIGCONT); /* it may be stopped */
        waitpid(keeper->guard.pid, NULL, 0);
    }
    if (connection >= 0)
        close_request_send(connection);
    hook_end(keeper->hook);
    access_close(&keeper->access);
    free(keeper);
    return status;
}
