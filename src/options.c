#include "options.h"

#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "exitcode.h"
#include "lockname.h"
#include "usage.h"
#include "values.h"
#include "xalloc.h"

#ifndef ZKFLOCK_VERSION
#define ZKFLOCK_VERSION "unknown"
#endif

#define DEFAULT_CONNECT_TIMEOUT (15 * CLOCK_S)
#define DEFAULT_SESSION_TIMEOUT_MS 15000

/* Options without a short form. */
enum {
    OPT_CONNECT_TIMEOUT = 256,
    OPT_EXPORT,
    OPT_FOR,
    OPT_HOLD,
    OPT_KILL_AFTER,
    OPT_LEASE,
    OPT_LOCK_DELAY,
    OPT_NO_REENTRY,
    OPT_NODE_STYLE,
    OPT_ON_LOST,
    OPT_PERMITS,
    OPT_SESSION_TIMEOUT,
    OPT_SIGNAL,
    OPT_TREE,
    OPT_UNFAIR,
    OPT_WITH,
};

static const char short_options[] = "+cE:eFhnoqsuVvw:xz:";

static const struct option long_options[] = {
    {"close", no_argument, NULL, 'o'},
    {"command", no_argument, NULL, 'c'},
    {"conflict-exit-code", required_argument, NULL, 'E'},
    {"connect-timeout", required_argument, NULL, OPT_CONNECT_TIMEOUT},
    {"exclusive", no_argument, NULL, 'x'},
    {"export", no_argument, NULL, OPT_EXPORT},
    {"for", required_argument, NULL, OPT_FOR},
    {"help", no_argument, NULL, 'h'},
    {"hold", no_argument, NULL, OPT_HOLD},
    {"kill-after", required_argument, NULL, OPT_KILL_AFTER},
    {"lease", required_argument, NULL, OPT_LEASE},
    {"lock-delay", required_argument, NULL, OPT_LOCK_DELAY},
    {"nb", no_argument, NULL, 'n'},
    {"no-fork", no_argument, NULL, 'F'},
    {"no-reentry", no_argument, NULL, OPT_NO_REENTRY},
    {"node-style", required_argument, NULL, OPT_NODE_STYLE},
    {"nonblock", no_argument, NULL, 'n'},
    {"nonblocking", no_argument, NULL, 'n'},
    {"on-lost", required_argument, NULL, OPT_ON_LOST},
    {"permits", required_argument, NULL, OPT_PERMITS},
    {"quiet", no_argument, NULL, 'q'},
    {"servers", required_argument, NULL, 'z'},
    {"session-timeout", required_argument, NULL, OPT_SESSION_TIMEOUT},
    {"shared", no_argument, NULL, 's'},
    {"signal", required_argument, NULL, OPT_SIGNAL},
    {"timeout", required_argument, NULL, 'w'},
    {"tree", no_argument, NULL, OPT_TREE},
    {"unfair", no_argument, NULL, OPT_UNFAIR},
    {"unlock", no_argument, NULL, 'u'},
    {"verbose", no_argument, NULL, 'v'},
    {"version", no_argument, NULL, 'V'},
    {"wait", required_argument, NULL, 'w'},
    {"with", required_argument, NULL, OPT_WITH},
    {NULL, 0, NULL, 0},
};

static int usage(void)
{
    fputs("Try 'zkflock --help'.\n", stderr);
    return EXITCODE_USAGE;
}

static int check_kind(struct options *options)
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
    else if (options->unfair && options->kind == NAMING_READER)
        log_error("--unfair does not go with --shared: without a queue readers would keep writers "
                  "out for ever");
    else if (options->unfair && options->naming.style != NAMING_CURATOR)
        log_error("--unfair does not go with --node-style: all of its kind use one name");
    else
        return 0;
    return EXITCODE_USAGE;
}

static int check_hold(const struct options *options)
{
    if (options->hold && options->unlock)
        log_error("--hold and --unlock do not go together: one takes a lock, the other gives it "
                  "back");
    else if (options->hold_export && !options->hold)
        log_error("--export goes with --hold alone");
    else if (options->hold_for && !options->hold && !options->unlock)
        log_error("--for goes with --hold and --unlock alone");
    else if (options->hold && options->tree)
        log_error(
            "--tree does not go with --hold: the lock is held until the calling process ends");
    else
        return 0;
    return EXITCODE_USAGE;
}

/*
 * Times that do not go together.  The lock may have another lease than is asked for here: that is
 * found out when it is known.
 */
static int check_lease(const struct options *options)
{
    int64_t length = options->lease ? options->lease : LEASE_DEFAULT;
    int64_t delay = options->lease ? options->lock_delay : LEASE_OWN_DELAY;
    char fault[LEASE_FAULT_SIZE];

    if (!lease_fault(length, options->kill_after, delay, fault))
        return 0;
    log_error("%s", fault);
    return EXITCODE_USAGE;
}

/* The path, to be freed; NULL after a message. */
static char *lock_named(const char *name)
{
    const char *fault;
    char *path = lockname_resolve(name, &fault);

    /* A name may be a megabyte long. */
    if (!path)
        log_error("the LOCK '%.64s%s' %s", name, strlen(name) > 64 ? "..." : "", fault);
    return path;
}

static int take_with(struct options *options, const char *name)
{
    char *path = lock_named(name);

    if (!path)
        return EXITCODE_USAGE;
    options->with = xreallocarray(options->with, options->with_len + 1, sizeof(options->with[0]));
    options->with[options->with_len++] = path;
    return 0;
}

/* ---- options ---- */

/* flock(1)'s options that cannot mean the same here. */
static int refuse(int option)
{
    switch (option) {
    case 'F':
        log_error("-F, --no-fork is not possible: the process that holds the lock has to stay, to "
                  "give it back; leave the option out");
        break;
    case 'c':
        log_error("-c goes behind LOCK: zkflock LOCK -c 'SHELL COMMAND'");
        break;
    default:
        return usage(); /* getopt_long() has said what is wrong */
    }
    return EXITCODE_USAGE;
}

static int take_option(struct options *options, const char **servers, int option)
{
    switch (option) {
    case 'x':
    case 'e':
        options->kind = NAMING_WRITER; /* as with flock(1), the last of -s and -x counts */
        return 0;
    case 's':
        options->kind = NAMING_READER;
        return 0;
    case OPT_PERMITS:
        return values_permits(options, optarg);
    case OPT_UNFAIR:
        options->unfair = true;
        return 0;
    case 'n':
        options->wait = 0;
        return 0;
    case 'w':
        return values_wait(options, optarg);
    case 'E':
        return values_status(options, optarg);
    case 'z':
        *servers = optarg;
        return 0;
    case OPT_CONNECT_TIMEOUT:
        return values_bounded("--connect-timeout", optarg, 100 * CLOCK_MS, CLOCK_S * 86400,
                              &options->connect_timeout);
    case OPT_EXPORT:
        options->hold_export = true;
        return 0;
    case OPT_FOR:
        return values_pid(options, optarg);
    case OPT_HOLD:
        options->hold = true;
        return 0;
    case 'u':
        options->unlock = true;
        return 0;
    case OPT_KILL_AFTER:
        return values_bounded("--kill-after", optarg, 0, CLOCK_S * 3600, &options->kill_after);
    case OPT_LEASE:
        return values_bounded("--lease", optarg, CLOCK_S, CLOCK_S * 86400, &options->lease);
    case OPT_LOCK_DELAY:
        return values_bounded("--lock-delay", optarg, 0, CLOCK_S * 86400, &options->lock_delay);
    case OPT_NO_REENTRY:
        options->reentry = false;
        return 0;
    case OPT_NODE_STYLE:
        return values_node_style(options, optarg);
    case OPT_ON_LOST:
        return values_on_lost(options, optarg);
    case OPT_SIGNAL:
        return values_signal(options, optarg);
    case OPT_TREE:
        options->tree = true;
        return 0;
    case 'o':
        options->tree =
            false; /* flock(1)'s word for what is the default here; the last one counts */
        return 0;
    case OPT_WITH:
        return take_with(options, optarg);
    case OPT_SESSION_TIMEOUT:
        return values_session_timeout(options, optarg);
    case 'v':
        options->log_level = options->log_level < LOG_LEVEL_INFO ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG;
        return 0;
    case 'q':
        options->log_level = LOG_LEVEL_ERROR;
        return 0;
    default:
        return refuse(option);
    }
}

/* ---- operands ---- */

static int take_shell_command(struct options *options, char **words)
{
    char *shell = getenv("SHELL");

    if (!words[1] || words[2]) {
        log_error("-c takes exactly one argument, the shell command; quote it as one word");
        return EXITCODE_USAGE;
    }
    options->shell_command[0] = shell && *shell ? shell : (char *)"/bin/sh";
    options->shell_command[1] = (char *)"-c";
    options->shell_command[2] = words[1];
    options->command = options->shell_command;
    return 0;
}

static bool all_digits(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
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

static int take_operands(struct options *options, char **words)
{
    const char *name = words[0];

    if (!name) {
        log_error("no LOCK given");
        return usage();
    }
    options->lock = lock_named(name);
    if (!options->lock)
        return EXITCODE_USAGE;
    for (size_t i = 0; i < options->with_len; i++) {
        if (is_named_twice(options, i)) {
            log_error("%s is given twice; --with names further locks", options->with[i]);
            return EXITCODE_USAGE;
        }
    }
    words++;
    if (*words && strcmp(*words, "--") == 0)
        words++;
    if (options->hold || options->unlock) {
        if (!*words)
            return 0;
        log_error("%s takes no COMMAND: leave '%s' out", options->hold ? "--hold" : "--unlock",
                  *words);
        return EXITCODE_USAGE;
    }
    if (!*words) {
        if (all_digits(name))
            log_error("no COMMAND given; a descriptor number alone, as flock(1) takes, cannot "
                      "hold a lock of an ensemble: zkflock LOCK COMMAND");
        else
            log_error("no COMMAND given: zkflock %s COMMAND", name);
        return usage();
    }
    if (strcmp(*words, "-c") == 0 || strcmp(*words, "--command") == 0)
        return take_shell_command(options, words);
    if (words[0][0] == '-') {
        log_error("'%s' stands behind LOCK, where COMMAND is expected; options go before LOCK",
                  *words);
        return EXITCODE_USAGE;
    }
    options->command = words;
    return 0;
}

static int take_servers(struct options *options, const char *text)
{
    const char *from_environment = getenv("ZKFLOCK_SERVERS");
    const char *origin = "--servers";
    char *fault;

    if (!text && from_environment && *from_environment) {
        text = from_environment;
        origin = "$ZKFLOCK_SERVERS";
    }
    options->servers = servers_parse(text ? text : SERVERS_DEFAULT, &fault);
    if (options->servers)
        return 0;
    log_error("%s: %s", origin, fault);
    free(fault);
    return origin[0] == '$' ? EXITCODE_CONFIG : EXITCODE_USAGE;
}

int options_parse(struct options *options, int argc, char **argv, bool *done)
{
    const char *servers = NULL;
    int status = 0;

    *options = (struct options){
        .wait = CLOCK_NEVER,
        .conflict_status = EXITCODE_BUSY,
        .connect_timeout = DEFAULT_CONNECT_TIMEOUT,
        .session_timeout_ms = DEFAULT_SESSION_TIMEOUT_MS,
        .reentry = true,
        .kill_after = LEASE_OWN_GRACE,
        .signal = SIGTERM,
        .lock_delay = LEASE_OWN_DELAY,
        .log_level = LOG_LEVEL_WARNING,
    };
    *done = false;
    argv[0] = (char *)"zkflock"; /* the name in getopt_long()'s messages */
    while (status == 0) {
        int option = getopt_long(argc, argv, short_options, long_options, NULL);

        if (option == -1)
            break;
        if (option == 'h' || option == 'V') {
            if (option == 'h')
                usage_print();
            else
                printf("zkflock %s\n", ZKFLOCK_VERSION);
            *done = true;
            return 0;
        }
        status = take_option(options, &servers, option);
    }
    if (status == 0)
        status = check_lease(options);
    if (status == 0)
        status = check_kind(options);
    if (status == 0)
        status = check_hold(options);
    if (status == 0 && options->unfair)
        options->kind = NAMING_UNFAIR;
    if (status == 0)
        status = take_operands(options, argv + optind);
    if (status == 0)
        status = take_servers(options, servers);
    log_set_level(options->log_level);
    return status;
}

void options_release(struct options *options)
{
    free(options->lock);
    for (size_t i = 0; i < options->with_len; i++)
        free(options->with[i]);
    free(options->with);
    servers_free(options->servers);
}
