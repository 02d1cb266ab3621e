#include "admin/break.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "admin/break_state.h"
#include "base/clock.h"
#include "base/exitcode.h"
#include "base/xalloc.h"
#include "ensemble/znode.h"
#include "list/survey.h"
#include "lock/contender.h"

static bool stop(struct visit *visit, int status)
{
    visit->status = status;
    return false;
}

/* ---- before ---- */

/* Warns of a holder that may do nothing about it: only a zkflock is certain to. */
static void warn(const struct visit *visit, const struct holder *holder)
{
    const char *lock = visit->options->lock;

    if (describe_is_ours(holder->shown))
        return;
    if (visit->by_force && holder->shown->session)
        log_warning("%s is held by %s, which is no zkflock: its client may go on working without "
                    "the lock",
                    lock, holder->who);
    else if (!visit->by_force && holder->shown->session)
        log_warning("%s is held by %s, which is no zkflock: it may not react to the request", lock,
                    holder->who);
    else if (!visit->by_force)
        log_warning("%s is held by %s: no client reacts to the request; --break takes the lock "
                    "away",
                    lock, holder->who);
}

/* Looks who holds the lock, and warns of holders that are no zkflock; returns whether to go on. */
static bool look(struct visit *visit)
{
    const char *lock = visit->options->lock;
    const struct view *view = &visit->view;

    visit->status = survey_lock(&visit->admin, lock, &visit->view);
    if (visit->status)
        return false;
    if (view->holders == 0) {
        log_notice(
            "%s %s", lock,
            !view->exists ? "does not exist: nobody holds it"
            : view->state == VIEW_SETTLING || view_next_waits(view, 0)
                ? "is not held: a holder vanished, and the next contender waits one lease for it"
                : "is not held");
        return stop(visit, EXITCODE_BUSY);
    }
    visit->len = view->holders;
    visit->holders = xcalloc(visit->len, sizeof(visit->holders[0]));
    for (size_t i = 0; i < visit->len; i++) {
        struct holder *holder = &visit->holders[i];

        holder->shown = &view->contenders[i];
        holder->parent = znode_above(holder->shown->path);
        if (holder->shown->rc == ZNOAUTH)
            return stop(visit, admin_failed(ZNOAUTH, "read", holder->shown->path));
        describe_contender(holder->shown, holder->who);
        warn(visit, holder);
    }
    return true;
}

/* ---- the question ---- */

/*
 * Returns a descriptor, to be closed, of the terminal that this process is in the foreground of; -1
 * if it is in that of none.
 */
static int open_terminal(void)
{
    int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);

    if (terminal >= 0 && tcgetpgrp(terminal) != getpgrp()) {
        close(terminal); /* in the background a read would stop the job, or fail with EIO */
        return -1;
    }
    return terminal;
}

static void say(const struct visit *visit, const char *text)
{
    ssize_t written = write(visit->terminal, text, strlen(text));

    (void)written; /* a terminal that has gone gives no answer either */
}

/* Reads once: a terminal gives whole lines.  Returns false for anything but yes. */
static bool read_yes(const struct visit *visit)
{
    char line[16];
    ssize_t len = read(visit->terminal, line, sizeof(line) - 1);

    if (len <= 0) {
        say(visit, "\n");
        return false;
    }
    line[len] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    return strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0;
}

/* What a zkflock does that is hit; another client may do nothing, of which look() has warned. */
static const char *question(const struct visit *visit)
{
    if (!visit->by_force)
        return visit->len == 1 ? "Ask the holder to give it up?" : "Ask them to give it up?";
    for (size_t i = 0; i < visit->len; i++)
        if (!describe_is_ours(visit->holders[i].shown))
            return "Take it away?";
    return visit->len == 1 ? "Take it away and end its command?"
                           : "Take it away and end their commands?";
}

static char *question_text(const struct visit *visit)
{
    char *text = xstrdup("");

    for (size_t i = 0; i < visit->len; i++) {
        const struct holder *holder = &visit->holders[i];
        time_t since = (time_t)(holder->shown->since_ms / 1000);
        struct tm tm;
        char when[32] = "";

        if (since && localtime_r(&since, &tm))
            strftime(when, sizeof(when), " since %F %T", &tm);
        xreplace(&text, xasprintf("%s%s is held%s by %s\n", text, visit->options->lock, when,
                                  holder->who));
    }
    xreplace(&text, xasprintf("%s%s [y/N] ", text, question(visit)));
    return text;
}

/* Asks the person at the terminal; returns whether to go on. */
static bool ask(struct visit *visit)
{
    char *text = question_text(visit);
    enum admin_news news;
    struct session_event event;

    visit->admin.also = (struct pollfd){.fd = visit->terminal, .events = POLLIN};
    say(visit, text);
    do {
        news = admin_next(&visit->admin, CLOCK_NEVER, &event);
        if (news == ADMIN_CONTINUED)
            say(visit, text);
        if (news == ADMIN_EVENT && event.type == SESSION_EXPIRED)
            session_reopen(visit->admin.session); /* a person may take hours */
    } while (news != ADMIN_READY && news != ADMIN_ENDED);
    visit->admin.also.fd = -1;
    free(text);
    if (news == ADMIN_ENDED) {
        say(visit, "\n");
        return stop(visit, admin_ended(&visit->admin));
    }
    if (!read_yes(visit)) {
        log_notice("nothing was done to %s", visit->options->lock);
        return stop(visit, EXITCODE_BUSY);
    }
    return true;
}

/* ---- all of them ---- */

/* Returns true if all holders have got to this stage. */
static bool are_all_at(const struct visit *visit, enum stage stage)
{
    for (size_t i = 0; i < visit->len; i++)
        if (visit->holders[i].stage < stage)
            return false;
    return true;
}

static void still_held(struct visit *visit)
{
    char span[CLOCK_FORMAT_SIZE];

    for (size_t i = 0; i < visit->len; i++)
        if (visit->holders[i].stage != DONE)
            log_notice("%s is still held after %s, by %s", visit->options->lock,
                       clock_format(options_asked_wait(visit->options, 0), span),
                       visit->holders[i].who);
    stop(visit, visit->status ? visit->status : EXITCODE_BUSY);
}

/* Returns since when there is no contact; not counting the time that the question took. */
static int64_t silent_since(const struct visit *visit)
{
    int64_t disconnected_since = session_disconnected_since(visit->admin.session);

    return disconnected_since > visit->began ? disconnected_since : visit->began;
}

/* Returns whether the ensemble has answered up to the end, and can be asked more. */
static bool deal_with_all(struct visit *visit)
{
    int64_t give_up_at = clock_add(visit->began, options_asked_wait(visit->options, CLOCK_NEVER));
    int64_t patience = visit->options->connect_timeout;

    break_holder_read(visit, true);
    while (!are_all_at(visit, DONE)) {
        const struct session *session = visit->admin.session;
        int64_t silent_at = clock_add(silent_since(visit), patience);
        bool asked = are_all_at(visit, WATCHING);
        enum admin_news news;
        struct session_event event;

        if (session_connected(session))
            silent_at = asked ? CLOCK_NEVER : clock_add(visit->began, patience);
        if (clock_now() >= silent_at)
            return stop(visit, admin_silent(&visit->admin));
        if (asked && clock_now() >= give_up_at) {
            still_held(visit);
            return session_connected(session);
        }
        news = admin_next(&visit->admin, clock_earlier(silent_at, asked ? give_up_at : CLOCK_NEVER),
                          &event);
        if (news == ADMIN_ENDED)
            return stop(visit, admin_ended(&visit->admin));
        if (news == ADMIN_EVENT)
            break_holder_handle(visit, &event);
    }
    return true;
}

static uint32_t count_broken(const struct visit *visit)
{
    uint32_t broken = 0;

    for (size_t i = 0; i < visit->len; i++)
        broken += visit->holders[i].taken;
    return broken;
}

/* Returns when the first of those left that were not broken; CLOCK_NEVER: none has. */
static int64_t first_left_at(const struct visit *visit)
{
    int64_t first = CLOCK_NEVER;

    for (size_t i = 0; i < visit->len; i++)
        if (visit->holders[i].left_at)
            first = clock_earlier(first, visit->holders[i].left_at);
    return first;
}

/*
 * Raises *vanished, the number of holders that were broken, if more have vanished since look().
 * Returns false if that is not to be learned: of a lock that no zkflock has made or adopted, or
 * when the next holder may have waited for one already.
 */
static bool look_who_vanished(struct visit *visit, uint32_t *vanished)
{
    struct view now;
    bool learned;

    if (survey_lock(&visit->admin, visit->options->lock, &now) != 0)
        return false;
    learned = now.lease_ms && clock_now() - first_left_at(visit) < now.lease_ms * CLOCK_MS;
    if (now.vanished > visit->view.vanished + *vanished)
        *vanished = now.vanished - visit->view.vanished;
    view_release(&now);
    return learned;
}

static void tell_who_left(const struct visit *visit, bool released)
{
    const char *lock = visit->options->lock;
    char span[CLOCK_FORMAT_SIZE];

    for (size_t i = 0; i < visit->len; i++) {
        const struct holder *holder = &visit->holders[i];

        if (holder->left_at == 0)
            continue;
        if (!released)
            log_notice("%s is no longer held by %s%s", lock, holder->who,
                       describe_is_ours(holder->shown) ? ", which may have vanished" : "");
        else if (holder->hit)
            log_notice("%s was released after %s, by %s", lock,
                       clock_format(holder->left_at - visit->began, span), holder->who);
        else
            log_notice("%s was released before, by %s", lock, holder->who);
    }
}

/* One that vanished is not counted out; a semaphore may have permits left beside those. */
static void tell_of_the_lease(const struct visit *visit, uint32_t vanished)
{
    char span[CLOCK_FORMAT_SIZE];

    if (vanished && view_next_waits(&visit->view, vanished))
        log_notice("the next holder starts within %s: check that the old command has ended; it may "
                   "run on if its host was paused, under --on-lost, or if the holder was no "
                   "zkflock",
                   visit->view.lease_ms ? clock_format(visit->view.lease_ms * CLOCK_MS, span)
                                        : "its lease, by default 15 s");
}

/* answered: the ensemble can be asked. */
static void tell_the_outcome(struct visit *visit, bool answered)
{
    uint32_t broken = count_broken(visit);
    uint32_t vanished = broken;

    if (first_left_at(visit) != CLOCK_NEVER) {
        answered = answered && look_who_vanished(visit, &vanished);
        tell_who_left(visit, answered && vanished == broken);
    }
    tell_of_the_lease(visit, vanished);
}

int break_lock(const struct options *options)
{
    char *self[] = {(char *)"zkflock", (char *)options_action_name(options->action),
                    (char *)options->name, NULL};
    struct visit visit = {
        .options = options, .by_force = options->action == ACTION_BREAK, .terminal = -1};

    if (!options->yes)
        visit.terminal = open_terminal();
    if (!options->yes && visit.terminal < 0) {
        log_error("%s asks before it does anything, and there is no terminal to ask on: use --yes",
                  options_action_name(options->action));
        return EXITCODE_USAGE;
    }
    contender_introduce(self);
    visit.status = admin_start(&visit.admin, options);
    if (visit.status || !look(&visit))
        goto end;
    if (!options->yes && !ask(&visit))
        goto end;
    visit.began = clock_now();
    tell_the_outcome(&visit, deal_with_all(&visit));
end:
    admin_end(&visit.admin);
    view_release(&visit.view);
    for (size_t i = 0; i < visit.len; i++)
        free(visit.holders[i].parent);
    free(visit.holders);
    if (visit.terminal >= 0)
        close(visit.terminal);
    return visit.status;
}
