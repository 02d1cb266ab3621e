#include "config/apart.h"

#include <stddef.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "base/log.h"

/* Features of the settings in effect, and which settings have them. */
#define FEATURES(X)                                                                                \
    X(SHARED, options->kind == NAMING_READER)                                                      \
    X(EXCLUSIVE, options->kind == NAMING_WRITER)                                                   \
    X(NO_PERMIT, options->kind == NAMING_READER || options->kind == NAMING_WRITER)                 \
    X(UNFAIR, options->unfair)                                                                     \
    X(PERMITS, options->permits)                                                                   \
    X(STYLE, options->typed[CHOICE_NODE_STYLE] && options->naming.style != NAMING_CURATOR)         \
    X(PLAIN, options->naming.style == NAMING_PLAIN)                                                \
    X(ONCE_PER, options->once_per)                                                                 \
    X(EVERY_TIME, !options->once_per)                                                              \
    X(NOW, options->now)                                                                           \
    X(CREATOR, ACTIONS_TAKE_LOCK & 1 << options->action && acl_needs_credentials(options->acl))    \
    X(NOBODY, !options->access.auth_file && !options->access.tls.cert)                             \
    X(TLS_FILE, options->access.tls.cacert || options->access.tls.cert || options->access.tls.key) \
    X(NO_TLS, !options->access.use_tls)                                                            \
    X(KEY, options->access.tls.key)                                                                \
    X(NO_CERT, !options->access.tls.cert)                                                          \
    X(HOLD, options->action == ACTION_HOLD)                                                        \
    X(NO_FORK, options->action == ACTION_NO_FORK)                                                  \
    X(LIMIT, options->max_runtime != CLOCK_NEVER || options->deadline != CLOCK_NEVER)              \
    X(TREE, options->tree)                                                                         \
    X(CONFLICT_0, options->typed[CHOICE_CONFLICT_STATUS] && options->conflict_status == 0)         \
    X(NAMES, options->names_only)                                                                  \
    X(HELD, options->held_only)                                                                    \
    X(JSON, options->json)                                                                         \
    X(WATCH, options->watch)                                                                       \
    X(NO_RETRY, !options->retries && !options->typed[CHOICE_RETRY])                                \
    X(RETRY_DELAY, options->typed[CHOICE_RETRY_DELAY] && options->action != ACTION_SHOW_CONFIG)    \
    X(SKIP, options->typed[CHOICE_SKIP_STATUS] && options->action != ACTION_SHOW_CONFIG)

enum {
#define X(name, condition) APART_##name,
    FEATURES(X)
#undef X
};

static const struct apart apart_rows[] = {
    {{APART_SHARED, APART_PLAIN},
     {CHOICE_KIND, CHOICE_NODE_STYLE},
     "--shared does not go with --node-style plain, whose names do not tell readers from others; "
     "use curator or kazoo"},
    {{APART_PERMITS, APART_NO_PERMIT},
     {CHOICE_KIND},
     "--permits does not go with --shared or --exclusive: a permit is neither"},
    {{APART_PERMITS, APART_UNFAIR},
     {CHOICE_KIND},
     "--permits does not go with --unfair: permits are given out in a queue"},
    {{APART_PERMITS, APART_STYLE},
     {CHOICE_KIND, CHOICE_NODE_STYLE},
     "--permits does not go with --node-style: semaphores are Curator's"},
    {{APART_ONCE_PER, APART_PERMITS},
     {CHOICE_KIND, CHOICE_ONCE_PER},
     "--once-per does not go with --permits: several would find at the same time that a run is "
     "due"},
    {{APART_ONCE_PER, APART_SHARED},
     {CHOICE_KIND, CHOICE_ONCE_PER},
     "--once-per does not go with --shared: several would find at the same time that a run is due"},
    {{APART_UNFAIR, APART_SHARED},
     {CHOICE_KIND},
     "--unfair does not go with --shared: without a queue readers would keep writers out for ever"},
    {{APART_UNFAIR, APART_EXCLUSIVE},
     {CHOICE_KIND},
     "--unfair does not go with --exclusive, which says how a place in the queue is named"},
    {{APART_UNFAIR, APART_STYLE},
     {CHOICE_KIND, CHOICE_NODE_STYLE},
     "--unfair does not go with --node-style: all of its kind use one name"},
    {{APART_HOLD, APART_CONFLICT_0},
     {CHOICE_CONFLICT_STATUS},
     "-E 0 does not go with --hold: 0 means that the lock is held"},
    {{APART_NOW, APART_EVERY_TIME},
     {CHOICE_OWN},
     "--now goes with --once-per alone: without it, every run is a run now; leave --now out"},
    {{APART_RETRY_DELAY, APART_NO_RETRY},
     {CHOICE_OWN},
     "--retry-delay goes with --retry alone: without it, nothing is tried again"},
    {{APART_SKIP, APART_EVERY_TIME},
     {CHOICE_OWN},
     "--skip-exit-code goes with --once-per alone: without it, every run is due"},
    {{APART_NAMES, APART_JSON}, {CHOICE_OWN}, "--names does not go with --json"},
    {{APART_NAMES, APART_WATCH}, {CHOICE_OWN}, "--names does not go with --watch"},
    {{APART_HELD, APART_WATCH},
     {CHOICE_OWN},
     "--held does not go with --watch, which tells of locks that come free, too"},
};

/* Rows of all settings together: the environment may add what a file leaves out. */
static const struct apart whole_rows[] = {
    {{APART_CREATOR, APART_NOBODY},
     {CHOICE_ACL, CHOICE_AUTH_FILE},
     "--acl gives the lock to clients with credentials alone, and this one has none; give "
     "--auth-file, or --tls and --cert"},
    {{APART_TLS_FILE, APART_NO_TLS},
     {CHOICE_TLS_CACERT, CHOICE_TLS_CERT, CHOICE_TLS_KEY},
     "--cacert, --cert and --key go with --tls alone; give that, too, or leave them out"},
    {{APART_NO_FORK, APART_ONCE_PER},
     {CHOICE_ONCE_PER},
     "--once-per does not go with --no-fork, by which zkflock cannot see whether COMMAND succeeds"},
    {{APART_NO_FORK, APART_LIMIT},
     {CHOICE_MAX_RUNTIME, CHOICE_DEADLINE},
     "--max-runtime and --deadline do not go with --no-fork, by which zkflock cannot wait for "
     "COMMAND"},
    {{APART_NO_FORK, APART_TREE},
     {CHOICE_TREE},
     "--tree does not go with --no-fork, by which zkflock cannot wait for COMMAND"},
    {{APART_KEY, APART_NO_CERT}, {CHOICE_TLS_KEY}, "--key goes with --cert alone"},
};

const struct apart *apart_find(const struct options *options, bool whole)
{
    const bool has[] = {
#define X(name, condition) [APART_##name] = (condition),
        FEATURES(X)
#undef X
    };

    for (size_t i = 0; i < sizeof(apart_rows) / sizeof(apart_rows[0]); i++)
        if (has[apart_rows[i].features[0]] && has[apart_rows[i].features[1]])
            return &apart_rows[i];
    for (size_t i = 0; whole && i < sizeof(whole_rows) / sizeof(whole_rows[0]); i++)
        if (has[whole_rows[i].features[0]] && has[whole_rows[i].features[1]])
            return &whole_rows[i];
    return NULL;
}

int apart_refuse(const struct apart *row)
{
    return row ? log_failure(EXITCODE_USAGE, "%s", row->sentence) : 0;
}
