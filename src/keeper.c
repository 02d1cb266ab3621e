#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "guard.h"
#include "lease.h"
#include "lock.h"
#include "session.h"
#include "signals.h"
#include "tree.h"
#include "xalloc.h"

/* How long to try to give a lock back when there is no answer; then its session has to expire. */
#define GIVE_BACK_PATIENCE (5 * CLOCK_S)

/* Connecting in silence for longer than this is told to a person at a terminal. */
#define SILENCE_BEFORE_NEWS (2 * CLOCK_S)

/* Between two rounds of killing what a dead guard left. */
#define KILL_ROUND (5 * CLOCK_MS)

struct keeper {
    const struct options *options;
    const struct command *command;
    int64_t started_at;
    int signal_fd;
    int ended_by; /* the signal that ends zkflock before the command runs; 0: none */
    bool running;

    struct guard guard;
    bool guard_dead;

    struct session *session;
    struct lock *lock;

    /* what the guard told of the command */
    bool exited;
    int wait_status;
    int exec_error;
    bool lease_over;
    bool tree_empty;
};

/* ---- the events of all sources ---- */

static void reap_guard(struct keeper *keeper)
{
    pid_t pid;

    /* Others than the guard are orphans that a dead guard left to us. */
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        if (pid == keeper->guard.pid)
            keeper->guard_dead = true;
}

static void take_signal(struct keeper *keeper, const struct signals_received *received)
{
    int number = received->number;

    if (number == SIGCHLD) {
        reap_guard(keeper);
    } else if (keeper->running) {
        if (signals_to_forward(received))
            guard_signal(&keeper->guard, number);
    } else if (signals_stop(number)) {
        signals_stop_self(number);
    } else if (signals_end(number) && !keeper->ended_by) {
        keeper->ended_by = number;
    }
}

static void take_report(struct keeper *keeper, const struct guard_message *report)
{
    switch ((enum guard_report)report->type) {
    case GUARD_NOT_STARTED:
        keeper->exec_error = report->number;
        break;
    case GUARD_STOPPED:
        /* As under flock(1): the job stops with its command.  SIGSTOP was meant for it alone. */
        if (signals_stop(report->number))
            signals_stop_self(report->number);
        break;
    case GUARD_EXITED:
        keeper->exited = true;
        keeper->wait_status = report->number;
        break;
    case GUARD_LEASE_OVER:
        keeper->lease_over = true;
        break;
    case GUARD_EMPTY:
        keeper->tree_empty = true;
        break;
    }
}

/* Handles what comes from the session, the guard and the kernel, until the deadline or less. */
static void pump(struct keeper *keeper, int64_t deadline)
{
    struct guard_message report;
    struct signals_received received;
    struct session_event event;
    struct pollfd fds[] = {
        {.fd = keeper->signal_fd, .events = POLLIN},
        {.fd = keeper->guard_dead ? -1 : keeper->guard.link, .events = POLLIN},
        {.fd = keeper->session ? session_fd(keeper->session) : -1, .events = POLLIN},
    };

    if (keeper->session)
        deadline = clock_earlier(deadline, session_tick(keeper->session));
    if (keeper->lock)
        deadline = clock_earlier(deadline, lock_tick(keeper->lock));
    if (poll(fds, 3, clock_poll_timeout(deadline)) < 0)
        return;
    if (fds[2].revents)
        while (session_next_event(keeper->session, &event))
            if (keeper->lock)
                lock_handle(keeper->lock, &event);
    if (fds[1].revents)
        while (guard_next(&keeper->guard, &report))
            take_report(keeper, &report);
    if (fds[0].revents)
        while (signals_next(keeper->signal_fd, &received))
            take_signal(keeper, &received);
}

static int ended_by_signal(const struct keeper *keeper)
{
    log_info("ended by signal %d (%s)", keeper->ended_by, strsignal(keeper->ended_by));
    return EXITCODE_SIGNAL + keeper->ended_by;
}

static int guard_died(void)
{
    log_error("the guard process was killed, so the command was ended");
    return EXITCODE_INTERNAL;
}

/* ---- starting ---- */

/*
 * A closed stdin, stdout or stderr would be taken over by the next descriptor opened.  The
 * stand-in is close-on-exec: the command finds it closed as the caller left it.
 */
static void fill_standard_descriptors(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
            return;
}

struct keeper *keeper_start(const struct options *options, struct command *command)
{
    struct keeper *keeper = xcalloc(1, sizeof(*keeper));

    keeper->options = options;
    keeper->command = command;
    keeper->started_at = clock_now();
    fill_standard_descriptors();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    command->inherited.process_group = getpgrp();
    keeper->signal_fd = signals_block(&command->inherited.mask, &command->inherited.ignores_child);
    if (keeper->signal_fd < 0 || guard_start(&keeper->guard, command, options->lock) < 0) {
        log_error("cannot start: %s", strerror(errno));
        free(keeper);
        return NULL;
    }
    return keeper;
}

/* ---- connecting ---- */

static int resolve(struct keeper *keeper, int64_t deadline)
{
    struct signals_received received;
    char *fault;

    while (servers_resolve(keeper->options->servers, deadline, keeper->signal_fd, &fault) < 0) {
        if (fault) {
            log_error("%s", fault);
            free(fault);
            return EXITCODE_UNREACHABLE;
        }
        while (signals_next(keeper->signal_fd, &received))
            take_signal(keeper, &received);
        if (keeper->ended_by)
            return ended_by_signal(keeper);
    }
    return 0;
}

static int unreachable(const struct keeper *keeper)
{
    char span[CLOCK_FORMAT_SIZE];
    char trouble[128];
    const char *why = session_trouble(keeper->session, trouble, sizeof(trouble));

    log_error("no server reachable at %s within %s%s%s; check --servers (or $ZKFLOCK_SERVERS) and "
              "that ZooKeeper runs there",
              servers_text(keeper->options->servers),
              clock_format(keeper->options->connect_timeout, span), why ? ": " : "",
              why ? why : "");
    return EXITCODE_UNREACHABLE;
}

static void tell_of_silence(const struct keeper *keeper)
{
    char span[CLOCK_FORMAT_SIZE];
    char trouble[128];
    const char *why = session_trouble(keeper->session, trouble, sizeof(trouble));

    log_notice("no answer from %s yet%s%s; trying for %s", servers_text(keeper->options->servers),
               why ? ": " : "", why ? why : "",
               clock_format(keeper->options->connect_timeout, span));
}

int keeper_connect(struct keeper *keeper)
{
    int64_t deadline = clock_add(keeper->started_at, keeper->options->connect_timeout);
    int64_t news_at = keeper->started_at + SILENCE_BEFORE_NEWS;
    int status = resolve(keeper, deadline);

    if (status)
        return status;
    if (!isatty(STDERR_FILENO))
        news_at = CLOCK_NEVER;
    keeper->session =
        session_open(keeper->options->servers, keeper->options->session_timeout_ms);
    if (!keeper->session) {
        log_error("cannot start the ZooKeeper client: %s", strerror(errno));
        return EXITCODE_OSERR;
    }
    keeper->lock = lock_new(keeper->session, keeper->options->lock, LEASE_DEFAULT_MS);
    while (!session_connected(keeper->session)) {
        int64_t now = clock_now();

        if (keeper->guard_dead)
            return guard_died();
        if (keeper->ended_by)
            return ended_by_signal(keeper);
        if (now >= deadline)
            return unreachable(keeper);
        if (now >= news_at) {
            tell_of_silence(keeper);
            news_at = CLOCK_NEVER;
        }
        pump(keeper, clock_earlier(deadline, news_at));
    }
    return 0;
}

/* ---- waiting ---- */

static int busy(struct keeper *keeper)
{
    char span[CLOCK_FORMAT_SIZE];

    if (keeper->options->wait == 0)
        log_notice("%s is busy: %zu ahead", keeper->options->lock, lock_ahead(keeper->lock));
    else
        log_notice("%s is still busy after %s: %zu ahead", keeper->options->lock,
                   clock_format(keeper->options->wait, span), lock_ahead(keeper->lock));
    return keeper->options->conflict_status;
}

/*
 * Until when the ensemble has to say something: a join that is not answered, or contact that does
 * not come back, ends the wait.
 */
static int64_t contact_deadline(const struct keeper *keeper, int64_t joining_since)
{
    int64_t patience = keeper->options->connect_timeout;
    int64_t session = session_timeout_ms(keeper->session) * CLOCK_MS;

    if (!session_connected(keeper->session))
        return clock_add(session_disconnected_since(keeper->session),
                         patience > session ? patience : session);
    return lock_phase(keeper->lock) == LOCK_JOINING ? clock_add(joining_since, patience)
                                                    : CLOCK_NEVER;
}

int keeper_acquire(struct keeper *keeper)
{
    int64_t give_up_at = clock_add(keeper->started_at, keeper->options->wait);
    int64_t joining_since = clock_now();
    char span[CLOCK_FORMAT_SIZE];

    for (;;) {
        enum lock_phase phase = lock_phase(keeper->lock);
        int64_t now = clock_now();
        int64_t deadline = contact_deadline(keeper, joining_since);

        if (phase == LOCK_HELD)
            break;
        if (keeper->guard_dead)
            return guard_died();
        if (phase == LOCK_LEAVING || phase == LOCK_LEFT) {
            const char *why;
            enum exitcode status = lock_failure(keeper->lock, &why);

            log_error("%s", why);
            return (int)status;
        }
        if (keeper->ended_by)
            return ended_by_signal(keeper);
        if (now >= deadline) {
            log_error("lost contact with %s while waiting for %s",
                      servers_text(keeper->options->servers), keeper->options->lock);
            return EXITCODE_UNREACHABLE;
        }
        /* The limit is on waiting for others; who vanished is waited for all the same. */
        if (phase == LOCK_WAITING) {
            if (now >= give_up_at)
                return busy(keeper);
            deadline = clock_earlier(deadline, give_up_at);
        }
        if (phase != LOCK_JOINING)
            joining_since = now;
        pump(keeper, deadline);
    }
    log_info("holding %s as %s, waited %s", keeper->options->lock, lock_node(keeper->lock),
             clock_format(clock_now() - keeper->started_at, span));
    return 0;
}

/* ---- running ---- */

static int64_t lease_end(const struct keeper *keeper)
{
    return lock_proven_at(keeper->lock) + lock_lease(keeper->lock);
}

/* The guard is dead or does not answer: its descendants become this process's, and die. */
static void kill_without_guard(struct keeper *keeper)
{
    if (!keeper->guard_dead)
        kill(keeper->guard.pid, SIGKILL);
    while (!tree_kill())
        poll(NULL, 0, (int)(KILL_ROUND / CLOCK_MS));
    keeper->guard_dead = true;
    keeper->tree_empty = true;
}

/* Waits until the guard has ended the tree; does it itself if the guard is late. */
static void await_empty(struct keeper *keeper)
{
    int64_t kill_at = lease_end(keeper) - lease_margin(lock_lease(keeper->lock)) / 2;

    while (!keeper->tree_empty && !keeper->guard_dead && clock_now() < kill_at)
        pump(keeper, kill_at);
    if (!keeper->tree_empty)
        kill_without_guard(keeper);
}

static int lost(struct keeper *keeper)
{
    const char *why;
    char span[CLOCK_FORMAT_SIZE];

    clock_format(clock_now() - lock_proven_at(keeper->lock), span);
    guard_kill(&keeper->guard);
    await_empty(keeper);
    if (lock_failure(keeper->lock, &why))
        log_error("lost %s: %s; %s was ended", keeper->options->lock, why,
                  keeper->command->argv[0]);
    else
        log_error("lost %s: no contact with the ensemble for %s; %s was ended",
                  keeper->options->lock, span, keeper->command->argv[0]);
    return EXITCODE_LOST;
}

static int command_status(const struct keeper *keeper)
{
    int status = keeper->wait_status;

    if (WIFSIGNALED(status)) {
        log_info("%s was ended by signal %d (%s)", keeper->command->argv[0], WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
        return EXITCODE_SIGNAL + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}

int keeper_run(struct keeper *keeper)
{
    int64_t interval = lease_proof_interval(lock_lease(keeper->lock));
    int64_t next_proof = lock_proven_at(keeper->lock) + interval;
    int64_t known_end = lease_end(keeper);

    keeper->running = true;
    guard_go(&keeper->guard, known_end, lock_lease(keeper->lock), lock_token(keeper->lock),
             lock_node(keeper->lock));
    for (;;) {
        int64_t now = clock_now();

        if (keeper->exited)
            return command_status(keeper);
        if (keeper->exec_error) {
            log_error("cannot execute %s: %s", keeper->command->argv[0],
                      strerror(keeper->exec_error));
            return (int)command_exec_failure(keeper->exec_error);
        }
        if (keeper->guard_dead) {
            kill_without_guard(keeper);
            return guard_died();
        }
        /* The guard acts first; that it has to be asked by now means that it is not well. */
        if (keeper->lease_over || lock_phase(keeper->lock) == LOCK_LOST ||
            now >= known_end - lease_margin(lock_lease(keeper->lock)))
            return lost(keeper);
        if (now >= next_proof) {
            lock_prove(keeper->lock);
            next_proof = now + interval;
        }
        if (lease_end(keeper) > known_end) {
            known_end = lease_end(keeper);
            guard_extend(&keeper->guard, known_end);
        }
        pump(keeper, clock_earlier(next_proof,
                                   known_end - lease_margin(lock_lease(keeper->lock))));
    }
}

/* ---- the end ---- */

static void leave_queue(struct keeper *keeper)
{
    int64_t deadline = clock_now() + GIVE_BACK_PATIENCE;

    lock_leave(keeper->lock);
    while (lock_phase(keeper->lock) == LOCK_LEAVING && clock_now() < deadline)
        pump(keeper, deadline);
    if (lock_phase(keeper->lock) == LOCK_LEAVING && lock_node(keeper->lock))
        log_warning("no answer from the ensemble: %s could not be given back; it comes free when "
                    "the session expires, in %d s at the most",
                    keeper->options->lock, (session_timeout_ms(keeper->session) + 999) / 1000);
}

void keeper_give_back(struct keeper *keeper)
{
    if (!keeper)
        return;
    if (keeper->lock && session_connected(keeper->session))
        leave_queue(keeper);
    else if (keeper->lock && lock_node(keeper->lock))
        leave_queue(keeper);
    guard_dismiss(&keeper->guard);
    lock_free(keeper->lock);
    session_close(keeper->session);
    if (!keeper->guard_dead)
        waitpid(keeper->guard.pid, NULL, 0);
    close(keeper->guard.link);
    close(keeper->signal_fd);
    free(keeper);
}
