#include "nesting/unlock.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "nesting/environment.h"
#include "nesting/holds.h"
#include "nesting/reentry_wire.h"

/* How long to wait for keepers that are busy with others. */
#define CONNECT_PATIENCE (10 * CLOCK_S)

/* How long to wait for the answer: a keeper releases the lock within seconds, unless stopped. */
#define ANSWER_PATIENCE (20 * CLOCK_S)

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
    char *node = NULL;
    int64_t token;

    if (!own || kind != REENTRY_CALLER || !wire_ask_unlock(fd, wanted->path, wanted->servers))
        return false; /* no hold of this user's, or it has just ended */
    wanted->answer = wire_read_answer(fd, -1, clock_now() + ANSWER_PATIENCE, &node, &token);
    free(node);
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

int unlock(const struct options *options)
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
