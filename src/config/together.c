#include "config/together.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/xalloc.h"
#include "config/option_table.h"
#include "config/values.h"
#include "lock/lockname.h"
#include "lock/recipe.h"

/* ---- the table of what does not go together ---- */

static bool takes_lock(const struct options *options)
{
    return ACTIONS_TAKE_LOCK & 1 << options->action;
}

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
    X(CREATOR, takes_lock(options) && acl_needs_credentials(options->acl))                         \
    X(NOBODY, !options->access.auth_file && !options->access.tls.cert)                             \
    X(TLS_FILE, options->access.tls.cacert || options->access.tls.cert || options->access.tls.key) \
    X(NO_TLS, !options->access.use_tls)                                                            \
    X(KEY, options->access.tls.key)                                                                \
    X(NO_CERT, !options->access.tls.cert)                                                          \
    X(HOLD, options->action == ACTION_HOLD)                                                        \
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

struct apart {
    int features[2];        /* that do not go together */
    enum choice choices[2]; /* that may be to blame; 0: none */
    const char *sentence;   /* says so */
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
     {CHOICE_TLS_CACERT, CHOICE_TLS_CERT},
     "--cacert, --cert and --key go with --tls alone; give that, too, or leave them out"},
    {{APART_KEY, APART_NO_CERT}, {CHOICE_TLS_KEY}, "--key goes with --cert alone"},
};

/*
 * Returns the first row that the settings in effect break; NULL if they go together.  whole: they
 * are all there are.
 */
static const struct apart *find_apart(const struct options *options, bool whole)
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

static int refuse_apart(const struct apart *row)
{
    return row ? log_failure(EXITCODE_USAGE, "%s", row->sentence) : 0;
}

/* ---- times, names and kinds ---- */

static enum naming_kind kind_of(const struct options *options)
{
    return options->unfair ? NAMING_UNFAIR : options->kind;
}

/*
 * Finds times that do not go together.  If the lock has another lease than is asked for here, or
 * none is asked for, the times are checked again when its lease is known.
 */
static int find_lease_fault(const struct options *options)
{
    char fault[LEASE_FAULT_SIZE];

    if (options->lease &&
        lease_fault(options->lease, options->kill_after, options->lock_delay, fault))
        return log_failure(EXITCODE_USAGE, "%s", fault);
    return 0;
}

static bool is_named_twice(const struct options *options, size_t with)
{
    for (size_t i = 0; i < with; i++)
        if (strcmp(options->with[with].path, options->with[i].path) == 0)
            return true;
    return strcmp(options->with[with].path, options->lock) == 0;
}

/* Returns whether a path is a znode of the semaphore: its lock would wait behind its own permit. */
static bool is_part_of_semaphore(const struct options *options, const char *path)
{
    size_t len = strlen(options->lock);

    return options->permits && strncmp(path, options->lock, len) == 0 && path[len] == '/' &&
           recipe_is_semaphore_part(path + len + 1);
}

static int find_with_fault(const struct options *options)
{
    for (size_t i = 0; i < options->with_len; i++) {
        const char *path = options->with[i].path;

        if (is_named_twice(options, i))
            return log_failure(EXITCODE_USAGE, "%s is given twice; --with names further locks",
                               path);
        if (is_part_of_semaphore(options, path))
            return log_failure(EXITCODE_USAGE,
                               "%s is a part of the semaphore %s, and no further lock", path,
                               options->lock);
    }
    return 0;
}

/*
 * Finds the kind of one lock of --with, whose name is still in path: -s, -x and --unfair are meant
 * for all locks, --permits for LOCK alone, and a section for its own lock.  Returns the setting
 * that decides it, NULL if there is none.
 */
static const struct setting *take_with_kind(const struct options *options,
                                            struct further_lock *lock, int *status)
{
    const struct settings *settings = &options->settings;
    const struct setting *own =
        settings_find_up_to(settings, CHOICE_KIND, lock->path, SETTINGS_USER_LOCK);
    const struct setting *typed = settings_find(settings, CHOICE_KIND, lock->path);
    struct options of_own = {.naming = options->naming};

    of_own.typed[CHOICE_NODE_STYLE] = options->typed[CHOICE_NODE_STYLE];
    if (own)
        own->row->take(&of_own, own);
    if (of_own.permits) {
        log_set_place(own->origin);
        *status = log_failure(
            EXITCODE_USAGE, "%s is a semaphore, and --with takes no permits; give that one as LOCK",
            lock->path);
        return own;
    }
    if (typed && typed != own && !options->permits) {
        lock->kind = options->kind;
        return typed;
    }
    if (own) {
        log_set_place(own->origin);
        *status = refuse_apart(find_apart(&of_own, false));
        lock->kind = kind_of(&of_own);
    }
    return own;
}

static const char *servers_of(const struct options *options, const char *name)
{
    const struct setting *servers = settings_find(&options->settings, CHOICE_SERVERS, name);

    return servers ? servers->text : SERVERS_DEFAULT;
}

bool together_same_ensemble(const struct options *options, const char *name)
{
    return servers_alike(servers_of(options, name), servers_of(options, options->name));
}

/* Finds a lock of --with that has other servers when it is used alone. */
static int find_servers_fault(const struct options *options)
{
    for (size_t i = 0; i < options->with_len; i++) {
        const char *name = options->with[i].path;
        const struct setting *own = settings_find(&options->settings, CHOICE_SERVERS, name);
        bool is_own = own && own->lock;
        const char *special = is_own ? name : options->name;

        if (!together_same_ensemble(options, name))
            return log_failure(EXITCODE_USAGE,
                               "the lock %s has servers of its own (%s), %s has others", special,
                               settings_find(&options->settings, CHOICE_SERVERS, special)->origin,
                               is_own ? options->name : name);
    }
    return 0;
}

char *together_path(const struct options *options, const char *name)
{
    const struct setting *path = settings_find(&options->settings, CHOICE_PATH, name);
    const struct setting *root = settings_find(&options->settings, CHOICE_ROOT, name);

    return values_lock_path(path ? path->text : name, root ? root->text : LOCKNAME_ROOT);
}

static int find_paths(struct options *options)
{
    for (size_t i = 0; i < options->with_len; i++) {
        char *path = together_path(options, options->with[i].path);

        if (!path)
            return EXITCODE_USAGE;
        xreplace(&options->with[i].path, path);
    }
    options->lock = together_path(options, options->name);
    return options->lock ? 0 : EXITCODE_USAGE;
}

/* Returns the setting that counts most among those of these choices; CHOICE_OWN is none. */
static const struct setting *foremost(const struct options *options, const enum choice *choices,
                                      size_t count)
{
    const struct setting *first = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct setting *setting =
            settings_find(&options->settings, choices[i], options->name);

        if (setting && (!first || setting->level > first->level ||
                        (setting->level == first->level && setting > first)))
            first = setting;
    }
    return first;
}

/* Has the next sentence begin with the place of a setting; returns the setting. */
static const struct setting *blame(const struct setting *setting)
{
    log_set_place(setting ? setting->origin : NULL);
    return setting;
}

/* Returns the first part that no lock may have, with its slash; NULL if there is none. */
static const char *find_kept_part(const char *path)
{
    for (const char *slash = path; slash; slash = strchr(slash + 1, '/')) {
        char *part = xstrndup(slash + 1, strcspn(slash + 1, "/"));
        int32_t sequence;
        bool is_kept = recipe_sequence(part, &sequence) ||
                       (slash != path && strcmp(part, RECIPE_SEMAPHORE_LEASES) == 0);

        free(part);
        if (is_kept)
            return slash;
    }
    return NULL;
}

/*
 * Finds a part that has a meaning of its own: X/leases makes X a semaphore, one without permits, to
 * every client; X/0000000000 is a contender of X.  X/locks harms only if X is a semaphore already,
 * which is checked when the lock is taken.
 */
static int find_part_fault(const struct options *options, const char *path,
                           const struct setting **blamed)
{
    const struct setting *root = settings_find(&options->settings, CHOICE_ROOT, options->name);
    const char *slash = find_kept_part(path);
    int len;

    if (!slash)
        return 0;
    len = (int)strcspn(slash + 1, "/");
    if (root && slash + 1 - path < (ptrdiff_t)strlen(root->text) &&
        strncmp(path, root->text, strlen(root->text)) == 0)
        *blamed = blame(root);
    if (slash[len] >= '0' && slash[len] <= '9')
        return log_failure(EXITCODE_USAGE,
                           "the LOCK %s would be a contender of %.*s by its part %.*s: a name that "
                           "ends in ten digits is kept for those; choose another LOCK",
                           path, slash > path ? (int)(slash - path) : 1, path, len, slash + 1);
    return log_failure(EXITCODE_USAGE,
                       "the LOCK %s would make a semaphore of %.*s: the name leases is kept for "
                       "the permits of one; choose another LOCK",
                       path, (int)(slash - path), path);
}

/* Other clients may have made such locks: they can be listed, broken and removed, but not taken. */
static int find_part_faults(const struct options *options, const struct setting **blamed)
{
    int status = 0;

    if (!takes_lock(options))
        return 0;
    for (size_t i = 0; i < options->with_len && status == 0; i++)
        status = find_part_fault(options, options->with[i].path, blamed);
    if (status)
        return status;
    *blamed = settings_find(&options->settings, CHOICE_PATH, options->name);
    if (!*blamed)
        *blamed = settings_section(&options->settings, options->name);
    blame(*blamed);
    return find_part_fault(options, options->lock, blamed);
}

int together_check(struct options *options, bool whole)
{
    static const enum choice times[] = {CHOICE_LEASE, CHOICE_KILL_AFTER, CHOICE_LOCK_DELAY};
    const struct setting *blamed = blame(foremost(options, times, 3));
    const struct apart *row = find_apart(options, whole);
    int status = find_lease_fault(options);

    if (status == 0 && row) {
        blamed = blame(foremost(options, row->choices, 2));
        status = refuse_apart(row);
    }
    options->kind = kind_of(options);
    for (size_t i = 0; status == 0 && options->name && i < options->with_len; i++)
        blamed = take_with_kind(options, &options->with[i], &status);
    if (status == 0 && options->name) {
        blamed = blame(settings_find(&options->settings, CHOICE_WITH, options->name));
        status = find_servers_fault(options);
        if (status == 0)
            status = find_paths(options);
        if (status == 0)
            status = find_with_fault(options);
        if (status == 0)
            status = find_part_faults(options, &blamed);
    }
    blame(NULL);
    return settings_status(blamed, status);
}
