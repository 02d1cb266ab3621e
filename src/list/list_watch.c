#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "list/describe.h"
#include "list/list_parts.h"
#include "list/screen.h"
#include "process/signals.h"

/* Waits as long between two pictures, so that a busy lock does not flood the terminal. */
#define FRAME (50 * CLOCK_MS)

/* Tells what was read so far after this if the survey is never complete. */
#define PATIENCE (CLOCK_S / 2)

struct watch {
    const struct list *list;
    struct survey *survey;
    struct admin *admin;
    struct screen screen;
    bool live; /* draws pictures on a terminal; else prints lines */
    bool contact;
    int64_t stale_since; /* views may have changed since they were told; else CLOCK_NEVER */
    int64_t drawn_at;
    struct view *views; /* as told last; NULL: none were */
    size_t count;
};

/* ---- a line for each change ---- */

static int print_line(const struct list *list, const struct change *change)
{
    char when[TEXT_TIME_SIZE] = "";
    time_t now = time(NULL);
    struct tm local;
    char *name = list_name(list->options, change->view->path);
    char *clean = text_clean(name);

    if (localtime_r(&now, &local))
        strftime(when, sizeof(when), "%FT%T%z", &local);
    printf("%s %s %s", when, clean, list_change_word(change->kind));
    if (change->contender) {
        char *who = describe_who(change->contender);
        char *pid = describe_pid(change->contender);
        char *command = describe_command(change->contender);

        printf(" %s%s%s%s%s", who, *pid ? " pid " : "", pid, *command ? ": " : "", command);
        free(who);
        free(pid);
        free(command);
    }
    putchar('\n');
    free(name);
    free(clean);
    return text_flush();
}

static int take_change(const struct change *change, void *whose)
{
    const struct list *list = whose;

    return list->options->json ? list_json_change(list, change) : print_line(list, change);
}

/* ---- a picture ---- */

static void print_status(const struct watch *watch, const struct table_output *out)
{
    char now[TEXT_TIME_SIZE];
    char span[CLOCK_FORMAT_SIZE];
    const char *servers = servers_text(watch->admin->options->servers);
    char *status;

    text_clock(text_now(), now);
    if (watch->contact) {
        char *summary = describe_all(watch->views, watch->count);

        status = xasprintf("%s  %s  %s", now, summary, servers);
        free(summary);
    } else {
        int64_t silence = clock_now() - session_disconnected_since(watch->admin->session);

        status = xasprintf("%s  no contact with %s for %s; as it was then:", now, servers,
                           clock_short(silence / CLOCK_MS, span));
    }
    list_print_line(out, status, watch->contact ? TEXT_DIM : TEXT_BAD);
    putc('\n', out->to);
    free(status);
}

static void draw(struct watch *watch)
{
    char *text = NULL;
    size_t len = 0;
    const struct table_output out = {open_memstream(&text, &len), screen_width(), screen_colours()};

    if (!out.to)
        return;
    print_status(watch, &out);
    list_print(watch->list, watch->views, watch->count, &out);
    if (fclose(out.to) == 0)
        screen_draw(text);
    free(text);
    watch->drawn_at = clock_now();
}

/* ---- following ---- */

/* Returns the exit status, after a message, if the one LOCK may not be read; else 0. */
static int check_one(struct watch *watch)
{
    const char *one = watch->list->one;

    for (size_t i = 0; one && i < watch->count; i++)
        if (watch->views[i].unread_rc == ZNOAUTH && strcmp(watch->views[i].path, one) == 0) {
            screen_leave(&watch->screen);
            return survey_unread(&watch->views[i]);
        }
    return 0;
}

static int tell(struct watch *watch)
{
    size_t count;
    struct view *views = survey_views(watch->survey, &count);
    int status = 0;

    if (!watch->live) {
        signals_let_end(true);
        status = list_changes(watch->views, watch->count, views, count, take_change,
                              (void *)watch->list);
        signals_let_end(false);
    }
    survey_views_free(watch->views, watch->count);
    watch->views = views;
    watch->count = count;
    watch->stale_since = CLOCK_NEVER;
    if (watch->live)
        draw(watch);
    return status ? status : check_one(watch);
}

/* Returns when to tell the changes. */
static int64_t tell_at(const struct watch *watch)
{
    int64_t at = watch->stale_since;

    if (!survey_complete(watch->survey))
        at = clock_add(at, PATIENCE);
    if (watch->live && at < watch->drawn_at + FRAME)
        at = watch->drawn_at + FRAME;
    return at;
}

static void take_event(struct watch *watch, const struct session_event *event)
{
    if (survey_handle(watch->survey, event) && watch->stale_since == CLOCK_NEVER)
        watch->stale_since = clock_now();
    if (event->type == SESSION_DISCONNECTED && watch->contact && !watch->live)
        log_notice("lost contact with %s; retrying", servers_text(watch->admin->options->servers));
    if (event->type == SESSION_CONNECTED && !watch->contact && !watch->live)
        log_notice("in contact with %s again", servers_text(watch->admin->options->servers));
    if (event->type == SESSION_DISCONNECTED || event->type == SESSION_EXPIRED)
        watch->contact = false;
    if (event->type == SESSION_CONNECTED)
        watch->contact = true;
}

/* Takes the key that was pressed; returns true if it ends the watch. */
static bool take_key(struct watch *watch)
{
    char key;

    if (read(STDIN_FILENO, &key, 1) != 1) {
        watch->admin->also.fd = -1; /* SIGHUP will say why */
        return false;
    }
    return key == 'q' || key == 'Q';
}

static void enter(struct watch *watch)
{
    if (!watch->live) {
        watch->admin->also = (struct pollfd){.fd = STDOUT_FILENO};
        return;
    }
    watch->admin->screen = &watch->screen;
    screen_enter(&watch->screen);
    watch->admin->also =
        (struct pollfd){.fd = watch->screen.has_keys ? STDIN_FILENO : -1, .events = POLLIN};
}

static int follow(struct watch *watch)
{
    struct session_event event;
    int status = tell(watch);

    while (status == 0) {
        /* The times in a picture grow by the second. */
        int64_t next_picture = watch->live ? clock_add(watch->drawn_at, CLOCK_S) : CLOCK_NEVER;

        switch (admin_next(watch->admin, clock_earlier(tell_at(watch), next_picture), &event)) {
        case ADMIN_EVENT:
            take_event(watch, &event);
            break;
        case ADMIN_READY:
            if (!watch->live)
                return EXITCODE_SIGNAL + SIGPIPE; /* nobody reads any more */
            if (take_key(watch))
                return 0;
            break;
        case ADMIN_CONTINUED:
            enter(watch);
            /* fall through */
        case ADMIN_RESIZED:
            if (watch->live)
                draw(watch);
            break;
        case ADMIN_ENDED:
            screen_leave(&watch->screen); /* before what is said of it */
            return admin_ended(watch->admin);
        case ADMIN_TIMEOUT:
            if (watch->live && clock_now() < tell_at(watch))
                draw(watch);
            break;
        }
        if (clock_now() >= tell_at(watch))
            status = tell(watch);
    }
    return status;
}

int list_watch(const struct list *list, struct survey *survey, struct admin *admin)
{
    struct watch watch = {.list = list,
                          .survey = survey,
                          .admin = admin,
                          .live = screen_is_live() && !list->options->json,
                          .contact = session_connected(admin->session)};
    int status;

    enter(&watch);
    status = follow(&watch);
    screen_leave(&watch.screen);
    survey_views_free(watch.views, watch.count);
    return status;
}
