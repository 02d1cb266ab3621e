#include "config/together.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/xalloc.h"
#include "config/apart.h"
#include "config/option_table.h"
#include "config/values.h"
#include "lock/lockname.h"
#include "lock/recipe.h"

static bool takes_lock(const struct options *options)
{
    return ACTIONS_TAKE_LOCK & 1 << options->action;
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
        *status = apart_refuse(apart_find(&of_own, false));
        lock->kind = kind_of(&of_own);
    }
    return own;
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

enum { COMMON_SERVERS };

/*
 * What the locks of --with have to have in common with LOCK: the servers; the ACL, else what this
 * zkflock creates would keep others out, or let them in; and under an ACL that is not open, the
 * user.  fallback is the value without a setting; beside is what may be blamed beside --with.
 */
static const struct common {
    enum choice choice;
    const char *what;
    const char *fallback;
    enum choice beside;
} commons[] = {
    [COMMON_SERVERS] = {CHOICE_SERVERS, "servers", SERVERS_DEFAULT, CHOICE_SERVERS},
    {CHOICE_ACL, "an ACL", "open", CHOICE_ACL},
    {CHOICE_AUTH_FILE, "an auth file", "", CHOICE_ACL},
    {CHOICE_TLS_CERT, "a certificate", "", CHOICE_ACL},
};

static const struct setting *find_setting(const struct options *options,
                                          const struct common *common, const char *name)
{
    return settings_find(&options->settings, common->choice, name);
}

static bool are_alike(const struct common *common, const struct setting *a, const struct setting *b)
{
    const char *first = a ? a->text : common->fallback;
    const char *second = b ? b->text : common->fallback;

    return common->choice == CHOICE_SERVERS ? servers_alike(first, second)
                                            : strcmp(first, second) == 0;
}

bool together_same_ensemble(const struct options *options, const char *name)
{
    const struct common *servers = &commons[COMMON_SERVERS];

    return are_alike(servers, find_setting(options, servers, name),
                     find_setting(options, servers, options->name));
}

static bool counts(const struct options *options, const struct common *common)
{
    return common->choice == CHOICE_SERVERS ||
           (takes_lock(options) && (common->choice == CHOICE_ACL || !acl_is_open(options->acl)));
}

/* Finds out if a lock of --with has one of these of its own, or LOCK has. */
static int find_common_fault(const struct options *options, const struct common *common,
                             const char *name)
{
    const struct setting *own = find_setting(options, common, name);
    const struct setting *mine = find_setting(options, common, options->name);
    const struct setting *special = own && own->lock ? own : mine;

    if (!special || are_alike(common, own, mine))
        return 0;
    return log_failure(EXITCODE_USAGE, "the lock %s has %s of its own (%s), unlike %s",
                       special->lock, common->what, special->origin,
                       special == own ? options->name : name);
}

static int find_common_faults(const struct options *options, const struct setting **blamed)
{
    for (size_t i = 0; i < sizeof(commons) / sizeof(commons[0]); i++) {
        const enum choice choices[] = {CHOICE_WITH, commons[i].beside};

        if (!counts(options, &commons[i]))
            continue;
        *blamed = blame(foremost(options, choices, 2));
        for (size_t j = 0; j < options->with_len; j++) {
            int status = find_common_fault(options, &commons[i], options->with[j].path);

            if (status)
                return status;
        }
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
    const struct apart *row = apart_find(options, whole);
    int status = find_lease_fault(options);

    if (status == 0 && row) {
        blamed = blame(foremost(options, row->choices, APART_CHOICES));
        status = apart_refuse(row);
    }
    options->kind = kind_of(options);
    for (size_t i = 0; status == 0 && options->name && i < options->with_len; i++)
        blamed = take_with_kind(options, &options->with[i], &status);
    if (status == 0 && options->name) {
        status = find_common_faults(options, &blamed);
        if (status == 0)
            blamed = blame(settings_find(&options->settings, CHOICE_WITH, options->name));
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
