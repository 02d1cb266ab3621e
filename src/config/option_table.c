#include "config/option_table.h"

#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "config/config.h"
#include "config/values.h"
#include "lock/lockname.h"

#define MEMBER(name) .member = offsetof(struct options, name)
/* The shortest lease that is ever accepted: with a grace below that of its own. */
#define LEASE_LEAST (3 * CLOCK_S)
#define HOUR (3600 * CLOCK_S)
#define DAY (24 * HOUR)

enum {
    RUN = 1 << ACTION_RUN,
    HOLD = 1 << ACTION_HOLD,
    UNLOCK = 1 << ACTION_UNLOCK,
    LIST = 1 << ACTION_LIST,
    REVOKE = 1 << ACTION_REVOKE,
    BREAK = 1 << ACTION_BREAK,
    REMOVE = 1 << ACTION_REMOVE,
    SHOW = 1 << ACTION_SHOW_CONFIG, /* takes all that a config file can say */

    TAKES = ACTIONS_TAKE_LOCK,
    WAITS = TAKES | REVOKE | REMOVE,
    ASKS_SERVERS = WAITS | LIST | BREAK,
    ALL = ASKS_SERVERS | UNLOCK,
};

static const char *const log_formats[] = {
    [LOG_FORMAT_TEXT] = "text", [LOG_FORMAT_JSON] = "json", NULL};
static const char *const log_levels[] = {[LOG_LEVEL_ERROR] = "error",
                                         [LOG_LEVEL_WARNING] = "warning",
                                         [LOG_LEVEL_INFO] = "info",
                                         [LOG_LEVEL_DEBUG] = "debug",
                                         NULL};
static const char *const ways_to_end[] = {
    [LEASE_KILL] = "kill", [LEASE_TERM] = "term", [LEASE_WARN] = "warn", NULL};

static const char no_wait[] = "it waits for nobody";
static const char no_holder[] = "nothing is run under the lock";
static const char no_command[] = "there is no command";
static const char no_server[] = "it asks no server";

/*
 * In each row first what people see, then the value, then the actions.
 *
 * Some keys are better left out than given what they come to: the lease is then the one that the
 * lock has, the times that are parts of it follow it, and an exclusive lock has no writer's name.
 */
/* clang-format off */
const struct option_row option_table[] = {
    {.key = "path", .lock_only = true, .take = values_path, .choice = CHOICE_PATH},
    {.key = "kind", .lock_only = true, .unset = "exclusive",
     .take = values_kind, .choice = CHOICE_KIND},
    /* Messages call it so; its help stands with -x. */
    {.forms = "-e", .means = "exclusive",
     .take = values_kind, .choice = CHOICE_KIND, .actions = TAKES, .why = no_holder},

    {.forms = "-x, -e, --exclusive", .heading = "What to take",
     .help = "an exclusive lock (the default)",
     .means = "exclusive",
     .take = values_kind, .choice = CHOICE_KIND, .actions = TAKES, .why = no_holder},
    {.forms = "-s, --shared", .help = "a shared lock: with others of its kind",
     .means = "shared",
     .take = values_kind, .choice = CHOICE_KIND, .actions = TAKES, .why = no_holder},
    {.forms = "--permits N", .help = "one of N permits: up to N at once",
     .key = "permits", .lock_only = true,
     .take = values_number, MEMBER(permits), .least = 1, .most = 1000000, .choice = CHOICE_KIND,
     .actions = TAKES, .why = no_holder},
    {.forms = "--unfair", .help = "no queue: any waiter may be next",
     .means = "unfair",
     .take = values_kind, .choice = CHOICE_KIND, .actions = TAKES, .why = no_holder},
    {.forms = "--with LOCK", .help = "this lock too; may be repeated",
     .key = "with", .lock_only = true, .unset = "no other lock",
     .take = values_with, .choice = CHOICE_WITH,
     .actions = TAKES, .why = "give that LOCK a call of its own"},
    {.forms = "--no-reentry", .help = "even if a zkflock around this one holds it",
     .means = "no", .key = "reentry", .lock_only = true, .preset = "yes",
     .take = values_flag, MEMBER(reentry), .actions = TAKES, .why = no_holder},

    {.forms = "--hold", .heading = "For a script, in the place of COMMAND",
     .help = "hold LOCK until the calling process ends",
     .action = ACTION_HOLD},
    {.forms = "--export", .help = "and print its environment, for eval",
     .means = "yes", .take = values_flag, MEMBER(hold_export), .actions = HOLD | UNLOCK},
    {.forms = "--for PID", .help = "hold it for that process, not for the caller",
     .take = values_pid, .actions = HOLD | UNLOCK},
    {.forms = "-u, --unlock", .help = "give back what --hold holds", .action = ACTION_UNLOCK},

    {.forms = "--list", .heading = "To see and to step in, in the place of COMMAND",
     .help = "print who holds and who waits, of LOCKs or of all",
     .action = ACTION_LIST},
    {.forms = "--json", .help = "in JSON",
     .means = "yes", .take = values_flag, MEMBER(json), .actions = LIST},
    {.forms = "--watch", .help = "and go on to show every change",
     .means = "yes", .take = values_flag, MEMBER(watch), .actions = LIST},
    {.forms = "--names", .help = "the names of locks alone",
     .means = "yes", .take = values_flag, MEMBER(names_only), .actions = LIST},
    {.forms = "--held", .help = "only the locks that are held",
     .means = "yes", .take = values_flag, MEMBER(held_only), .actions = LIST},
    {.forms = "--revoke", .help = "ask the holder to release LOCK; -w limits that",
     .action = ACTION_REVOKE},
    {.forms = "--break", .help = "take LOCK away from its holder at once", .action = ACTION_BREAK},
    {.forms = "--yes", .help = "do not ask whether to do so",
     .means = "yes", .take = values_flag, MEMBER(yes), .actions = REVOKE | BREAK},
    {.forms = "--remove", .help = "delete a LOCK that nobody uses", .action = ACTION_REMOVE},

    {.forms = "-n, --nb, --nonblock, --nonblocking", .called = "-n",
     .heading = "How long to wait", .help = "give up at once if the lock is not free",
     .means = "0", .take = values_wait, .choice = CHOICE_WAIT, .actions = WAITS, .why = no_wait},
    {.forms = "-w, --wait, --timeout TIME", .called = "-w",
     .help = "give up after waiting this long for others",
     .key = "timeout", .lock_only = true, .unset = "none",
     .take = values_wait, .choice = CHOICE_WAIT, .actions = WAITS, .why = no_wait},
    {.forms = "--deadline TIME", .help = "give up or end COMMAND this long after the start",
     .key = "deadline", .lock_only = true, .unset = "none",
     .take = values_limit, MEMBER(deadline), .choice = CHOICE_DEADLINE,
     .actions = RUN | SHOW, .why = no_command},
    {.forms = "-E, --conflict-exit-code N", .called = "-E",
     .help = "exit status when giving up (default 1)",
     .key = "conflict-exit-code", .preset = "1",
     .take = values_status, MEMBER(conflict_status), .choice = CHOICE_CONFLICT_STATUS,
     .actions = TAKES, .why = no_command},

    {.forms = "--max-runtime TIME", .heading = "What to run",
     .help = "end COMMAND if it runs longer than this",
     .key = "max-runtime", .lock_only = true, .unset = "none",
     .take = values_limit, MEMBER(max_runtime), .choice = CHOICE_MAX_RUNTIME,
     .actions = RUN | SHOW, .why = no_command},
    {.forms = "--once-per TIME",
     .help = "run only if the last success, on any host,\nbegan longer ago than this",
     .key = "once-per", .lock_only = true, .unset = "none",
     .take = values_time, MEMBER(once_per), .least = CLOCK_S, .most = 1000 * DAY,
     .choice = CHOICE_ONCE_PER,
     .actions = RUN | SHOW, .why = "there is no command whose success could be noted"},
    {.forms = "--now", .help = "run even if it is not due, and count as a run",
     .means = "yes", .take = values_flag, MEMBER(now), .actions = RUN, .why = "nothing is run"},
    {.forms = "--skip-exit-code N", .help = "exit status when it is not run (default 0)",
     .key = "skip-exit-code", .lock_only = true, .preset = "0",
     .take = values_status, MEMBER(skip_status), .choice = CHOICE_SKIP_STATUS,
     .actions = RUN | SHOW, .why = no_command},
    {.forms = "-c, --command", .help = "after LOCK: run one string through the shell",
     .refusal = "-c goes behind LOCK: zkflock LOCK -c 'SHELL COMMAND'"},
    {.forms = "-F, --no-fork", .help = "zkflock becomes COMMAND; helpers hold the lock",
     .action = ACTION_NO_FORK},
    {.forms = "--tree",
     .help = "release the lock when everything that COMMAND\nstarted has ended, not just COMMAND",
     .means = "yes", .key = "tree", .preset = "no",
     .take = values_flag, MEMBER(tree), .choice = CHOICE_TREE,
     .actions = RUN | SHOW, .why = no_command},
    {.forms = "-o, --close",
     .help = "what COMMAND leaves behind is not under the lock\n(the default)",
     .means = "no", .take = values_flag, MEMBER(tree), .choice = CHOICE_TREE,
     .actions = RUN | SHOW, .why = no_command},
    {.forms = "--hook COMMAND",
     .help = "run COMMAND EVENT when the lock is waited for,\n"
             "acquired, released, lost, skipped, busy",
     .key = "hook", .unset = "none",
     .take = values_text, MEMBER(hook), .actions = TAKES, .why = no_holder},

    {.forms = "-z, --servers LIST", .heading = "Where",
     .help = "HOST:PORT,...[/CHROOT] of the ensemble; else\n"
             "the lock's in a config file, else\n$" SERVERS_VARIABLE ", else a config file's, else\n"
             SERVERS_DEFAULT,
     .key = "servers", .preset = SERVERS_DEFAULT,
     .take = values_servers, .choice = CHOICE_SERVERS, .actions = ALL},
    {.forms = "--auth-file FILE",
     .help = "authenticate: a file of lines\ndigest:USER:PASSWORD; else $" AUTH_FILE_VARIABLE,
     .key = "auth-file", .unset = "none",
     .take = values_file, MEMBER(access.auth_file), .choice = CHOICE_AUTH_FILE, .actions = ALL},
    {.forms = "--tls", .help = "connect by TLS, and check servers' certificates",
     .means = "yes", .key = "tls", .preset = "no",
     .take = values_flag, MEMBER(access.use_tls), .choice = CHOICE_TLS, .actions = ALL},
    {.forms = "--cacert FILE", .help = "trust these instead of what the system trusts",
     .key = "cacert", .unset = "those of the system",
     .take = values_file, MEMBER(access.tls.cacert), .choice = CHOICE_TLS_CACERT, .actions = ALL},
    {.forms = "--cert FILE", .help = "the certificate of this client",
     .key = "cert", .unset = "none",
     .take = values_file, MEMBER(access.tls.cert), .choice = CHOICE_TLS_CERT, .actions = ALL},
    {.forms = "--key FILE", .help = "its private key (default: in the file of --cert)",
     .key = "key", .unset = "none",
     .take = values_file, MEMBER(access.tls.key), .choice = CHOICE_TLS_KEY, .actions = ALL},
    {.forms = "--acl open|creator|creator-read|LIST",
     .help = "who may use the znodes that zkflock creates\n(default open)",
     .key = "acl", .preset = "open",
     .take = values_acl, .choice = CHOICE_ACL, .actions = TAKES, .why = "it creates no lock"},
    {.forms = "--show-command full|name|none|TEXT",
     .help = "what others see of COMMAND (default full, and\nname with --acl, --auth-file or --cert)",
     .key = "show-command", .unset = "full, or name with --acl, --auth-file or --cert",
     .take = values_show_command, MEMBER(show_command), .actions = TAKES, .why = no_command},
    {.key = "root", .preset = LOCKNAME_ROOT, .take = values_root, .choice = CHOICE_ROOT},
    {.forms = "--connect-timeout TIME", .help = "give up if no server answers (default 15s)",
     .key = "connect-timeout", .preset = "15s",
     .take = values_time, MEMBER(connect_timeout), .least = 100 * CLOCK_MS, .most = DAY,
     .actions = ASKS_SERVERS, .why = no_server},
    {.forms = "--retry N", .help = "then try again, N times (default 0)",
     .key = "retry", .preset = "0",
     .take = values_number, MEMBER(retries), .most = 1000000, .choice = CHOICE_RETRY,
     .actions = TAKES, .why = no_holder},
    {.forms = "--retry-delay TIME", .help = "after this pause (default 10s)",
     .key = "retry-delay", .preset = "10s",
     .take = values_time, MEMBER(retry_delay), .least = 100 * CLOCK_MS, .most = DAY,
     .choice = CHOICE_RETRY_DELAY, .actions = TAKES, .why = no_holder},
    {.forms = "--session-timeout TIME",
     .help = "how long the ensemble keeps the place of a client\nthat is silent (default 15s)",
     .key = "session-timeout", .preset = "15s",
     .take = values_time, MEMBER(session_timeout), .least = CLOCK_S, .most = HOUR,
     .actions = ASKS_SERVERS, .why = no_server},
    {.forms = "--node-style curator|kazoo|plain:PREFIX",
     .help = "the names of znodes, to share a queue with other\nclients (default curator)",
     .key = "node-style", .preset = "curator",
     .take = values_node_style, .choice = CHOICE_NODE_STYLE, .actions = TAKES, .why = no_holder},

    {.forms = "--lease TIME", .heading = "When contact is lost",
     .help = "end COMMAND before this time is over (default\n"
             "15s); counts for a lock that this one makes",
     .key = "lease",
     .take = values_time, MEMBER(lease), .least = LEASE_LEAST, .most = DAY,
     .choice = CHOICE_LEASE, .actions = TAKES, .why = no_holder},
    {.forms = "--signal SIGNAL", .help = "what ends the command first (default TERM)",
     .key = "signal", .preset = "TERM", .take = values_signal, .actions = TAKES, .why = no_holder},
    {.forms = "--kill-after TIME",
     .help = "what it then has until KILL (default a fifth of\nthe lease)",
     .key = "kill-after", .unset = "a fifth of the lease",
     .take = values_time, MEMBER(kill_after), .most = HOUR, .choice = CHOICE_KILL_AFTER,
     .actions = TAKES, .why = no_holder},
    {.forms = "--on-lost kill|term|warn",
     .help = "what to do to it (default kill); the others risk\ntwo commands at once",
     .key = "on-lost", .preset = "kill",
     .take = values_word, MEMBER(on_lost), .words = ways_to_end,
     .actions = TAKES, .why = no_holder},
    {.forms = "--lock-delay TIME",
     .help = "what to wait for a holder that vanished (default\n"
             "the lease); 0 risks two commands at once",
     .key = "lock-delay", .unset = "the lease",
     .take = values_time, MEMBER(lock_delay), .most = DAY, .choice = CHOICE_LOCK_DELAY,
     .actions = TAKES, .why = no_holder},

    {.forms = "--config FILE", .heading = "Else",
     .help = "read this instead of " CONFIG_SYSTEM_FILE " and\n"
             "~/.config/zkflock/config; see zkflock.conf(5)",
     .take = values_text, MEMBER(config_file), .actions = ALL},
    {.forms = "--show-config", .help = "print the settings and where each is set",
     .action = ACTION_SHOW_CONFIG},
    {.key = "log-level", .preset = "warning",
     .take = values_word, MEMBER(log_level), .words = log_levels, .choice = CHOICE_LOG_LEVEL},
    {.forms = "-v, --verbose", .help = "report what happens; twice: ZooKeeper's log too",
     .take = values_verbose, .choice = CHOICE_LOG_LEVEL, .actions = ALL},
    {.forms = "--log-format text|json", .help = "one line of text, or of JSON, for each message",
     .key = "log-format", .preset = "text",
     .take = values_word, MEMBER(log_format), .words = log_formats, .actions = ALL},
    {.forms = "--log-syslog", .help = "to the system's log as well",
     .means = "yes", .key = "log-syslog", .preset = "no",
     .take = values_flag, MEMBER(log_syslog), .actions = ALL},
    {.forms = "-q, --quiet", .help = "report failures only",
     .means = "error",
     .take = values_word, MEMBER(log_level), .words = log_levels, .choice = CHOICE_LOG_LEVEL,
     .actions = ALL},
    {.forms = "-h, --help", .help = "print this"},
    {.forms = "-V, --version", .help = "print the version"},
};
/* clang-format on */

const size_t option_table_len = sizeof(option_table) / sizeof(option_table[0]);

char *option_table_name(const struct option_row *row)
{
    const char *name = strstr(row->forms, "--");

    if (row->called || !name)
        return xstrdup(row->called ? row->called : row->forms);
    return xstrndup(name, strcspn(name, ", "));
}

const struct option_row *option_table_key(const char *key)
{
    for (const struct option_row *row = option_table; row < option_table + option_table_len; row++)
        if (row->key && strcmp(row->key, key) == 0)
            return row;
    return NULL;
}

unsigned int option_table_choice(const struct option_row *row)
{
    return row->choice ? row->choice : CHOICE_COUNT + (unsigned int)(row - option_table);
}
