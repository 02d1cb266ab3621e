#include "config/config_keys.h"

#include <stddef.h>
#include <string.h>

#include "config/settings.h"
#include "ensemble/servers.h"
#include "lock/lockname.h"

/*
 * Some are better left out than given what they come to: the lease is then the one that the lock
 * has, the times that are parts of it follow it, and an exclusive lock has no writer's name.
 */
const struct config_key config_keys[] = {
    {"path", KEY_PATH, true, NULL, true},
    {"kind", KEY_KIND, true, "exclusive", false},
    {"permits", OPT_PERMITS, true, NULL, false},
    {"with", OPT_WITH, true, "no other lock", false},
    {"timeout", 'w', true, "none", false},
    {"deadline", OPT_DEADLINE, true, "none", false},
    {"max-runtime", OPT_MAX_RUNTIME, true, "none", false},
    {"reentry", KEY_REENTRY, true, "yes", true},
    {"once-per", OPT_ONCE_PER, true, "none", false},
    {"skip-exit-code", OPT_SKIP_EXIT_CODE, true, "0", true},
    {"servers", 'z', false, SERVERS_DEFAULT, true},
    {"root", KEY_ROOT, false, LOCKNAME_ROOT, true},
    {"connect-timeout", OPT_CONNECT_TIMEOUT, false, "15s", true},
    {"session-timeout", OPT_SESSION_TIMEOUT, false, "15s", true},
    {"node-style", OPT_NODE_STYLE, false, "curator", true},
    {"lease", OPT_LEASE, false, NULL, false},
    {"signal", OPT_SIGNAL, false, "TERM", true},
    {"kill-after", OPT_KILL_AFTER, false, "a fifth of the lease", false},
    {"on-lost", OPT_ON_LOST, false, "kill", true},
    {"lock-delay", OPT_LOCK_DELAY, false, "the lease", false},
    {"hook", OPT_HOOK, false, "none", false},
    {"retry", OPT_RETRY, false, "0", true},
    {"retry-delay", OPT_RETRY_DELAY, false, "10s", true},
    {"tree", OPT_TREE, false, "no", true},
    {"conflict-exit-code", 'E', false, "1", true},
    {"log-level", KEY_LOG_LEVEL, false, "warning", true},
    {"log-format", OPT_LOG_FORMAT, false, "text", true},
    {"log-syslog", OPT_LOG_SYSLOG, false, "no", true},
    {NULL, 0, false, NULL, false},
};

const struct config_key *config_key_named(const char *name)
{
    for (const struct config_key *key = config_keys; key->name; key++)
        if (strcmp(key->name, name) == 0)
            return key;
    return NULL;
}
