#include "options.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "exitcode.h"
#include "lockname.h"
#include "xalloc.h"

#ifndef ZKFLOCK_VERSION
#define ZKFLOCK_VERSION "unknown"
#endif

#define DEFAULT_SERVERS "127.0.0.1:2181"
#define DEFAULT_CONNECT_TIMEOUT (15 * CLOCK_S)
#define DEFAULT_SESSION_TIMEOUT_MS 15000

/* Options without a short form. */
enum { OPT_CONNECT_TIMEOUT = 256, OPT_SESSION_TIMEOUT };

static const char short_options[] = "+cE:eFhnoqsuVvw:xz:";

static const struct option long_options[] = {
    {"close", no_argument, NULL, 'o'},
    {"command", no_argument, NULL, 'c'},
    {"conflict-exit-code", required_argument, NULL, 'E'},
    {"connect-timeout", required_argument, NULL, OPT_CONNECT_TIMEOUT},
    {"exclusive", no_argument, NULL, 'x'},
    {"help", no_argument, NULL, 'h'},
    {"nb", no_argument, NULL, 'n'},
    {"no-fork", no_argument, NULL, 'F'},
    {"nonblock", no_argument, NULL, 'n'},
    {"nonblocking", no_argument, NULL, 'n'},
    {"quiet", no_argument, NULL, 'q'},
    {"servers", required_argument, NULL, 'z'},
    {"session-timeout", required_argument, NULL, OPT_SESSION_TIMEOUT},
    {"shared", no_argument, NULL, 's'},
    {"timeout", required_argument, NULL, 'w'},
    {"unlock", no_argument, NULL, 'u'},
    {"verbose", no_argument, NULL, 'v'},
    {"version", no_argument, NULL, 'V'},
    {"wait", required_argument, NULL, 'w'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    fputs("Usage: zkflock [options] LOCK COMMAND [ARG]...\n"
          "       zkflock [options] LOCK -c 'SHELL COMMAND'\n"
          "\n"
          "Runs COMMAND while holding LOCK, a lock kept by a ZooKeeper ensemble: no two\n"
          "commands run under the same LOCK at the same time, on whichever hosts.\n"
          "LOCK is a znode path (/app/deploy), or a name: deploy means " LOCKNAME_ROOT "/deploy.\n"
          "\n"
          "  -x, -e, --exclusive          take an exclusive lock (the default)\n"
          "  -n, --nb, --nonblock, --nonblocking\n"
          "                               give up at once if the lock is not free\n"
          "  -w, --wait, --timeout TIME   give up after waiting this long for others\n"
          "  -E, --conflict-exit-code N   exit status when giving up (default 1)\n"
          "  -c, --command                after LOCK: run one string through the shell\n"
          "  -z, --servers LIST           HOST:PORT,...[/CHROOT] of the ensemble; else\n"
          "                               $ZKFLOCK_SERVERS, else " DEFAULT_SERVERS "\n"
          "      --connect-timeout TIME   give up if no server answers (default 15s)\n"
          "      --session-timeout TIME   how long the ensemble keeps the place of a client\n"
          "                               that is silent (default 15s)\n"
          "  -v, --verbose                tell what happens; twice: ZooKeeper's log too\n"
          "  -q, --quiet                  tell of failures only\n"
          "  -h, --help                   print this\n"
          "  -V, --version                print the version\n"
          "\n"
          "TIME is in seconds, 0.5 or 90, or has a unit: 500ms 10s 5m 2h 1d.\n"
          "COMMAND finds ZKFLOCK_LOCK, ZKFLOCK_NODE and ZKFLOCK_TOKEN in its environment.\n"
          "\n"
          "Exit status: the command's, or\n",
          stdout);
#define X(name, value, meaning) printf("  %3d  %s\n", (value), (meaning));
    EXITCODES(X)
#undef X
    fputs("\nThe manual, zkflock(1), tells what is guaranteed and when.\n", stdout);
}

static int usage(void)
{
    fputs("Try 'zkflock --help'.\n", stderr);
    return EXITCODE_USAGE;
}

/* ---- values ---- */

static int parse_wait(struct options *options, const char *text)
{
    if (clock_parse(text, &options->wait))
        return 0;
    log_error("-w takes a time such as 10, 0.5, 500ms or 5m, not '%s'", text);
    return EXITCODE_USAGE;
}

static int parse_status(struct options *options, const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || value > 255) {
        log_error("-E takes an exit status from 0 to 255, not '%s'", text);
        return EXITCODE_USAGE;
    }
    options->conflict_status = (int)value;
    return 0;
}

static int parse_bounded(const char *name, const char *text, int64_t least, int64_t most,
                         int64_t *span)
{
    char a[CLOCK_FORMAT_SIZE];
    char b[CLOCK_FORMAT_SIZE];

    if (clock_parse(text, span) && *span >= least && *span <= most)
        return 0;
    log_error("%s takes a time from %s to %s, not '%s'", name, clock_format(least, a),
              clock_format(most, b), text);
    return EXITCODE_USAGE;
}

static int parse_session_timeout(struct options *options, const char *text)
{
    int64_t span = 0;
    int status = parse_bounded("--session-timeout", text, CLOCK_S, 3600 * CLOCK_S, &span);

    options->session_timeout_ms = (int)(span / CLOCK_MS);
    return status;
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
    case 'o':
        log_error("-o, --close is not needed: COMMAND never gets a descriptor of the lock; leave "
                  "the option out");
        break;
    case 's':
        log_error("-s, --shared is not supported by this version; locks are exclusive");
        break;
    case 'u':
        log_error("-u, --unlock is not needed: the lock is given back when COMMAND ends");
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
        return 0;
    case 'n':
        options->wait = 0;
        return 0;
    case 'w':
        return parse_wait(options, optarg);
    case 'E':
        return parse_status(options, optarg);
    case 'z':
        *servers = optarg;
        return 0;
    case OPT_CONNECT_TIMEOUT:
        return parse_bounded("--connect-timeout", optarg, 100 * CLOCK_MS, CLOCK_S * 86400,
                             &options->connect_timeout);
    case OPT_SESSION_TIMEOUT:
        return parse_session_timeout(options, optarg);
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

static int take_operands(struct options *options, char **words)
{
    const char *name = words[0];
    const char *fault;

    if (!name) {
        log_error("no LOCK given");
        return usage();
    }
    options->lock = lockname_resolve(name, &fault);
    if (!options->lock) {
        /* A name may be a megabyte long. */
        log_error("the LOCK '%.64s%s' %s", name, strlen(name) > 64 ? "..." : "", fault);
        return EXITCODE_USAGE;
    }
    words++;
    if (*words && strcmp(*words, "--") == 0)
        words++;
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
    options->servers = servers_parse(text ? text : DEFAULT_SERVERS, &fault);
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
                print_help();
            else
                printf("zkflock %s\n", ZKFLOCK_VERSION);
            *done = true;
            return 0;
        }
        status = take_option(options, &servers, option);
    }
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
    servers_free(options->servers);
}
