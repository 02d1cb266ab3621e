#include "config/values.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "config/option_table.h"
#include "ensemble/acl.h"
#include "ensemble/znode.h"
#include "lock/lockname.h"

#define LIMIT_MAX (CLOCK_S * 86400 * 1000)

/* Returns where the value of a setting goes. */
static void *member_of(struct options *options, const struct setting *setting)
{
    return (char *)options + setting->row->member;
}

/* Says what a setting takes, and returns the exit status. */
static int refuse(const struct setting *setting, const char *what)
{
    return log_failure(EXITCODE_USAGE, "%s takes %s, not '%s'", setting->name, what, setting->text);
}

/* ---- words ---- */

/* Returns "kill, term or warn", to be freed. */
static char *list_of(const char *const *words)
{
    char *list = xstrdup(words[0]);

    for (size_t i = 1; words[i]; i++)
        xreplace(&list, xasprintf("%s%s%s", list, words[i + 1] ? ", " : " or ", words[i]));
    return list;
}

/* Returns the index of the text among the words; -1 after a sentence. */
static int find_word(const struct setting *setting, const char *const *words)
{
    char *list;

    for (int i = 0; words[i]; i++)
        if (strcmp(setting->text, words[i]) == 0)
            return i;
    list = list_of(words);
    refuse(setting, list);
    free(list);
    return -1;
}

int values_flag(struct options *options, const struct setting *setting)
{
    static const char *const words[] = {"yes", "no", NULL};
    int word = find_word(setting, words);

    if (word < 0)
        return EXITCODE_USAGE;
    *(bool *)member_of(options, setting) = word == 0;
    return 0;
}

int values_word(struct options *options, const struct setting *setting)
{
    int word = find_word(setting, setting->row->words);

    if (word < 0)
        return EXITCODE_USAGE;
    *(int *)member_of(options, setting) = word;
    return 0;
}

int values_kind(struct options *options, const struct setting *setting)
{
    static const char *const words[] = {"exclusive", "shared", "unfair", NULL};
    int word = find_word(setting, words);

    if (word < 0)
        return EXITCODE_USAGE;
    if (word == 2)
        options->unfair = true;
    else /* as with flock(1), the last of -s and -x counts */
        options->kind = word == 0 ? NAMING_WRITER : NAMING_READER;
    return 0;
}

int values_verbose(struct options *options, const struct setting *setting)
{
    (void)setting;
    options->log_level = options->log_level < LOG_LEVEL_INFO ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG;
    return 0;
}

/* ---- numbers ---- */

/* Reads digits: strtol(3) alone would take blanks and signs too. */
static bool parse_number(const char *text, long least, long most, int *number)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || value < least || value > most)
        return false;
    *number = (int)value;
    return true;
}

int values_number(struct options *options, const struct setting *setting)
{
    long least = (long)setting->row->least;
    long most = (long)setting->row->most;

    if (parse_number(setting->text, least, most, member_of(options, setting)))
        return 0;
    return log_failure(EXITCODE_USAGE, "%s takes a number from %ld to %ld, not '%s'", setting->name,
                       least, most, setting->text);
}

int values_status(struct options *options, const struct setting *setting)
{
    return parse_number(setting->text, 0, 255, member_of(options, setting))
               ? 0
               : refuse(setting, "an exit status from 0 to 255");
}

int values_pid(struct options *options, const struct setting *setting)
{
    return parse_number(setting->text, 1, INT_MAX, &options->hold_for)
               ? 0
               : refuse(setting, "the number of a process");
}

int values_signal(struct options *options, const struct setting *setting)
{
    const char *text = setting->text;
    const char *wanted = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
    char *end;
    long number = strtol(text, &end, 10);

    for (int i = 1; i < NSIG; i++) {
        const char *known = sigabbrev_np(i);
        bool of_libc = i > SIGSYS && i < SIGRTMIN; /* and no process can block it */

        if ((known && strcasecmp(known, wanted) == 0) ||
            (*text && !*end && number == i && !of_libc)) {
            options->signal = i;
            return 0;
        }
    }
    return refuse(setting, "a signal such as TERM, INT or 15");
}

/* ---- times ---- */

static int take_time(const struct setting *setting, int64_t least, int64_t most, int64_t *span)
{
    char a[CLOCK_FORMAT_SIZE];
    char b[CLOCK_FORMAT_SIZE];

    if (clock_parse(setting->text, span) && *span >= least && *span <= most)
        return 0;
    return log_failure(EXITCODE_USAGE, "%s takes a time from %s to %s, not '%s'", setting->name,
                       clock_format(least, a), clock_format(most, b), setting->text);
}

int values_time(struct options *options, const struct setting *setting)
{
    return take_time(setting, setting->row->least, setting->row->most, member_of(options, setting));
}

int values_limit(struct options *options, const struct setting *setting)
{
    /* Rounding must not turn a time above 0 into 0, which is no limit. */
    int64_t least = strpbrk(setting->text, "123456789") ? 1 : 0;
    int64_t *limit = member_of(options, setting);
    int status = take_time(setting, least, LIMIT_MAX, limit);

    if (*limit == 0) /* as timeout(1) has it */
        *limit = CLOCK_NEVER;
    return status;
}

int values_wait(struct options *options, const struct setting *setting)
{
    return clock_parse(setting->text, &options->wait)
               ? 0
               : refuse(setting, "a time such as 10, 0.5, 500ms or 5m");
}

/* ---- locks ---- */

char *values_lock_path(const char *name, const char *root)
{
    const char *fault;
    char *path = lockname_resolve(name, root, &fault);

    /* A name may be a megabyte long. */
    if (!path)
        log_error("the LOCK '%.64s%s' %s", name, strlen(name) > 64 ? "..." : "", fault);
    return path;
}

bool values_is_lock(const char *name)
{
    char *path = values_lock_path(name, LOCKNAME_ROOT);

    free(path);
    return path != NULL;
}

int values_with(struct options *options, const struct setting *setting)
{
    char *list = xstrdup(setting->text);
    char *rest = list;
    bool good = true;

    while (good && rest) {
        char *name = xstrdup(text_trim(strsep(&rest, ",")));

        options->with =
            xreallocarray(options->with, options->with_len + 1, sizeof(options->with[0]));
        options->with[options->with_len++] = (struct further_lock){.path = name};
        good = values_is_lock(name);
    }
    free(list);
    return good ? 0 : EXITCODE_USAGE;
}

int values_path(struct options *options, const struct setting *setting)
{
    (void)options;
    if (setting->text[0] != '/')
        return refuse(setting, "the path of a znode, such as /app/nightly");
    if (setting->lock[0] == '/' && strcmp(setting->lock, setting->text) != 0)
        return log_failure(EXITCODE_USAGE,
                           "%s cannot be another one for the lock %s, which is named by its path",
                           setting->name, setting->lock);
    return values_is_lock(setting->text) ? 0 : EXITCODE_USAGE;
}

int values_root(struct options *options, const struct setting *setting)
{
    const char *root = setting->text;
    const char *fault = NULL;
    char *path = NULL;

    (void)options;
    if (root[0] != '/')
        return refuse(setting, "the path of a znode, such as " LOCKNAME_ROOT);
    if (root[1])
        fault = znode_path_fault(root);
    if (!fault) /* can a lock stand below it? */
        path = lockname_resolve("x", root, &fault);
    if (!path)
        log_error("the %s '%.64s' %s", setting->name, root, fault);
    free(path);
    return path ? 0 : EXITCODE_USAGE;
}

int values_node_style(struct options *options, const struct setting *setting)
{
    const char *wrong = NULL;

    if (!naming_parse(setting->text, &options->naming))
        return refuse(setting, "curator, kazoo or plain:PREFIX");
    if (options->naming.style == NAMING_PLAIN)
        wrong = lockname_prefix_fault(options->naming.prefix);
    if (wrong)
        return log_failure(EXITCODE_USAGE, "the PREFIX '%s' of %s %s", options->naming.prefix,
                           setting->name, wrong);
    return 0;
}

/* ---- others ---- */

int values_text(struct options *options, const struct setting *setting)
{
    *(const char **)member_of(options, setting) = setting->text;
    return 0;
}

int values_show_command(struct options *options, const struct setting *setting)
{
    return setting->text[0] ? values_text(options, setting)
                            : refuse(setting, "full, name, none or a text");
}

int values_file(struct options *options, const struct setting *setting)
{
    char *directory;

    if (setting->origin && setting->text[0] != '/')
        return refuse(setting, "a path that starts with a slash");
    if (!setting->text[0])
        return refuse(setting, "a path");
    directory = setting->text[0] == '/' ? NULL : getcwd(NULL, 0);
    xreplace(member_of(options, setting),
             directory ? xasprintf("%s/%s", directory, setting->text) : xstrdup(setting->text));
    free(directory);
    return 0;
}

int values_acl(struct options *options, const struct setting *setting)
{
    char *fault;
    struct ACL_vector *acl = acl_parse(setting->text, &fault);

    if (!acl) {
        log_error("%s %s", setting->name, fault);
        free(fault);
        return EXITCODE_USAGE;
    }
    acl_free(options->acl);
    options->acl = acl;
    return 0;
}

int values_servers(struct options *options, const struct setting *setting)
{
    char *fault;
    struct servers *servers = servers_parse(setting->text, &fault);

    if (!servers) {
        log_error("%s: %s", setting->name, fault);
        free(fault);
        return EXITCODE_USAGE;
    }
    servers_free(options->servers);
    options->servers = servers;
    return 0;
}
