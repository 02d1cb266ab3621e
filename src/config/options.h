/*
 * What zkflock is to do: what the command line, the environment and the config files come to.  The
 * struct does not change once they have been read.
 */
#ifndef ZKFLOCK_OPTIONS_H
#define ZKFLOCK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/lease.h"
#include "base/log.h"
#include "config/settings.h"
#include "ensemble/acl.h"
#include "ensemble/session.h"
#include "lock/naming.h"

/*
 * What to do: run a command under a lock, or something in the place of that, for which there is an
 * option of its own.
 */
enum action {
    ACTION_RUN,
    ACTION_HOLD,
    ACTION_NO_FORK,
    ACTION_UNLOCK,
    ACTION_LIST,
    ACTION_REVOKE,
    ACTION_BREAK,
    ACTION_REMOVE,
    ACTION_SHOW_CONFIG,
};

enum {
    ACTION_COUNT = ACTION_SHOW_CONFIG + 1,
    /* 1 << action: those that take LOCK, and --show-config, which shows what they would take. */
    ACTIONS_TAKE_LOCK =
        1 << ACTION_RUN | 1 << ACTION_HOLD | 1 << ACTION_NO_FORK | 1 << ACTION_SHOW_CONFIG,
    /* Those that run COMMAND. */
    ACTIONS_TAKE_COMMAND = 1 << ACTION_RUN | 1 << ACTION_NO_FORK,
};

/* A lock of --with. */
struct further_lock {
    char *path; /* until together_check() the name as it was given */
    enum naming_kind kind;
};

struct options {
    struct settings settings; /* what was asked for; the rest is what it comes to */
    const char *name;         /* LOCK as it was typed; NULL: none was */
    const char *config_file;  /* to be read instead of the usual ones; NULL: those */
    enum action action;
    bool typed[CHOICE_COUNT]; /* the command line makes this choice */

    char **names; /* --list: what to list, without slashes behind it; of argv, ends in NULL */
    bool json;
    bool watch;
    bool names_only;
    bool held_only;
    bool yes; /* --revoke, --break: do not ask */

    char *lock; /* the znode path of the lock */
    struct further_lock *with;
    size_t with_len;
    bool hold_export;         /* --hold: print its environment */
    pid_t hold_for;           /* --hold, --unlock: for this process; 0: the caller */
    char **command;           /* argv, ends in NULL */
    char *shell_command[4];   /* what command points to under -c */
    const char *hook;         /* NULL: none */
    const char *show_command; /* what others see of the command: full, name, none or a text */
    int64_t wait;             /* ns; CLOCK_NEVER: as long as it takes; 0: not at all */
    int conflict_status;      /* the exit status for busy */
    int64_t deadline;         /* ns, from the start until the command's end; CLOCK_NEVER */
    int64_t max_runtime;      /* ns, of the command; CLOCK_NEVER: as long as it takes */
    int64_t once_per;         /* ns; 0: every time */
    bool now;                 /* run even if it is not due by once_per */
    int skip_status;          /* the exit status for a run that is not due */
    struct servers *servers;
    struct access_terms access;
    struct ACL_vector *acl;  /* of what is made */
    int64_t connect_timeout; /* ns */
    int retries;             /* of taking the lock, where no server is reachable */
    int64_t retry_delay;     /* ns */
    int64_t session_timeout; /* ns */
    enum naming_kind kind;
    bool unfair;
    bool tree;       /* held until everything that the command started has ended */
    bool reentry;    /* may use what a zkflock around this one holds, and be used so */
    int32_t permits; /* 0: a lock */
    struct naming naming;
    int64_t lease;      /* ns; 0: not asked for */
    int64_t new_lease;  /* ns, of a lock that is made */
    int64_t kill_after; /* ns; LEASE_OWN_GRACE */
    int64_t lock_delay; /* ns; LEASE_OWN_DELAY */
    int signal;         /* what ends the command first */
    enum lease_on_lost on_lost;
    enum log_level log_level;
    enum log_format log_format;
    bool log_syslog;
};

/* Returns the option that asks for an action; NULL for ACTION_RUN. */
const char *options_action_name(enum action action);

/*
 * Returns the time of -w or -n if it stands on the command line, else otherwise.  It is for actions
 * that are no runs: the time in a config file is meant for runs.
 */
int64_t options_asked_wait(const struct options *options, int64_t otherwise);

/* What others see of the command in its znode: options->show_command, or what follows from the
 * rest if that is not set. */
const char *options_show_command(const struct options *options);

/* Returns "yes" or "no", for $ZKFLOCK_TLS of those inside; NULL: nothing says which. */
const char *options_tls(const struct options *options);

/*
 * Returns the terms of a session with the ensemble; access is that of options->access.  --acl
 * counts for actions that take a lock: --remove, too, makes a znode, which is open like those of
 * others.
 */
struct session_terms options_session_terms(const struct options *options,
                                           const struct access *access);

void options_release(struct options *options);

#endif
