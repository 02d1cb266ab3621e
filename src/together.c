#include "together.h"

#include <string.h>

#include "exitcode.h"
#include "lockname.h"
#include "recipe.h"
#include "xalloc.h"

char *together_lock_named(const char *name, const char *root)
{
    const char *fault;
    char *path = lockname_resolve(name, root, &fault);

    /* A name may be a megabyte long. */
    if (!path)
        log_error("the LOCK '%.64s%s' %s", name, strlen(name) > 64 ? "..." : "", fault);
    return path;
}

static int find_kind_fault(const struct options *options)
{
    if (options->kind == NAMING_READER && options->naming.style == NAMING_PLAIN)
        log_error("--shared does not go with --node-style plain, whose names do not tell readers "
                  "from others; use curator or kazoo");
    else if (options->permits && options->kind != NAMING_MUTEX)
        log_error("--permits does not go with --shared or --exclusive: a permit is neither");
    else if (options->permits && options->unfair)
        log_error("--permits does not go with --unfair: permits are given out in a queue");
    else if (options->permits && options->naming.style != NAMING_CURATOR)
        log_error("--permits does not go with --node-style: semaphores are Curator's");
    else if (options->once_per && (options->permits || options->kind == NAMING_READER))
        log_error("--once-per does not go with %s: several would find at the same time that a run "
                  "is due",
                  options->permits ? "--permits" : "--shared");
    else if (options->unfair && options->kind == NAMING_READER)
        log_error("--unfair does not go with --shared: without a queue readers would keep writers "
                  "out for ever");
    else if (options->unfair && options->naming.style != NAMING_CURATOR)
        log_error("--unfair does not go with --node-style: all of its kind use one name");
    else
        return 0;
    return EXITCODE_USAGE;
}

/*
 * Times that do not go together.  The lock may have another lease than is asked for here: that is
 * found out when it is known, and so is everything where none is asked for.
 */
static int find_lease_fault(const struct options *options)
{
    char fault[LEASE_FAULT_SIZE];

    if (!options->lease ||
        !lease_fault(options->lease, options->kill_after, options->lock_delay, fault))
        return 0;
    log_error("%s", fault);
    return EXITCODE_USAGE;
}

static bool is_named_twice(const struct options *options, size_t with)
{
    if (strcmp(options->with[with], options->lock) == 0)
        return true;
    for (size_t i = 0; i < with; i++)
        if (strcmp(options->with[with], options->with[i]) == 0)
            return true;
    return false;
}

/* One that holds a permit would wait for the turn of one that waits for a permit. */
static bool is_part_of_semaphore(const struct options *options, const char *path)
{
    size_t len = strlen(options->lock);

    return options->permits && strncmp(path, options->lock, len) == 0 && path[len] == '/' &&
           recipe_is_semaphore_part(path + len + 1);
}

static int find_with_fault(const struct options *options)
{
    for (size_t i = 0; i < options->with_len; i++) {
        if (is_named_twice(options, i)) {
            log_error("%s is given twice; --with names further locks", options->with[i]);
            return EXITCODE_USAGE;
        }
        if (is_part_of_semaphore(options, options->with[i])) {
            log_error("%s is a part of the semaphore %s, and no further lock", options->with[i],
                      options->lock);
            return EXITCODE_USAGE;
        }
    }
    return 0;
}

/* A lock that is named with the one of options has to be in the same ensemble. */
static int find_servers_fault(const struct options *options, const struct settings *settings)
{
    const struct setting *used = settings_find(settings, 'z', options->name);

    for (size_t i = 0; i < options->with_len; i++) {
        const char *name = options->with[i];
        const struct setting *own = settings_find(settings, 'z', name);
        bool is_own = own && own->lock;
        const struct setting *special = is_own ? own : used;

        if (!settings_knows(settings, name) || !special ||
            strcmp(own ? own->text : SERVERS_DEFAULT, used ? used->text : SERVERS_DEFAULT) == 0)
            continue;
        log_error("the lock %s has servers of its own (%s), %s has others",
                  is_own ? name : options->name, special->origin, is_own ? options->name : name);
        return EXITCODE_USAGE;
    }
    return 0;
}

char *together_path(const struct settings *settings, const char *name)
{
    const struct setting *path = settings_find(settings, KEY_PATH, name);
    const struct setting *root = settings_find(settings, KEY_ROOT, name);

    return together_lock_named(path ? path->text : name, root ? root->text : LOCKNAME_ROOT);
}

static int find_paths(struct options *options, const struct settings *settings)
{
    for (size_t i = 0; i < options->with_len; i++) {
        char *path = together_path(settings, options->with[i]);

        if (!path)
            return EXITCODE_USAGE;
        xreplace(&options->with[i], path);
    }
    options->lock = together_path(settings, options->name);
    return options->lock ? 0 : EXITCODE_USAGE;
}

/* The setting that counts most among those that have to go together. */
static const struct setting *foremost(const struct settings *settings, const char *name,
                                      const int choices[3])
{
    const struct setting *first = NULL;

    for (int i = 0; i < 3; i++) {
        const struct setting *setting = settings_find(settings, choices[i], name);

        if (setting && (!first || setting->level > first->level ||
                        (setting->level == first->level && setting > first)))
            first = setting;
    }
    return first;
}

int together_check(struct options *options, const struct settings *settings)
{
    static const int times[3] = {OPT_LEASE, OPT_KILL_AFTER, OPT_LOCK_DELAY};
    static const int kinds[3] = {KEY_KIND, OPT_NODE_STYLE};
    static const int locks[3] = {OPT_WITH};
    const struct setting *blamed = foremost(settings, options->name, times);
    int status;

    log_set_place(blamed ? blamed->origin : NULL);
    status = find_lease_fault(options);
    if (status == 0) {
        blamed = foremost(settings, options->name, kinds);
        log_set_place(blamed ? blamed->origin : NULL);
        status = find_kind_fault(options);
    }
    if (status == 0 && options->name) {
        blamed = foremost(settings, options->name, locks);
        log_set_place(blamed ? blamed->origin : NULL);
        status = find_servers_fault(options, settings);
        if (status == 0)
            status = find_paths(options, settings);
        if (status == 0)
            status = find_with_fault(options);
    }
    log_set_place(NULL);
    return settings_status(blamed, status);
}
