#include "config/options.h"

#include <stdlib.h>

#include "base/clock.h"

const char *options_action_name(enum action action)
{
    static const char *const names[] = {
        [ACTION_RUN] = NULL,
        [ACTION_HOLD] = "--hold",
        [ACTION_NO_FORK] = "--no-fork",
        [ACTION_UNLOCK] = "--unlock",
        [ACTION_LIST] = "--list",
        [ACTION_REVOKE] = "--revoke",
        [ACTION_BREAK] = "--break",
        [ACTION_REMOVE] = "--remove",
        [ACTION_SHOW_CONFIG] = "--show-config",
    };

    return names[action];
}

int64_t options_asked_wait(const struct options *options, int64_t otherwise)
{
    return options->typed[CHOICE_WAIT] ? options->wait : otherwise;
}

const char *options_show_command(const struct options *options)
{
    if (options->show_command)
        return options->show_command;
    return acl_is_open(options->acl) && !options->access.auth_file && !options->access.tls.cert
               ? "full"
               : "name";
}

const char *options_tls(const struct options *options)
{
    if (options->access.use_tls)
        return "yes";
    return settings_find(&options->settings, CHOICE_TLS, options->name) ? "no" : NULL;
}

struct session_terms options_session_terms(const struct options *options,
                                           const struct access *access)
{
    bool takes_lock = ACTIONS_TAKE_LOCK & 1 << options->action;

    return (struct session_terms){.servers = options->servers,
                                  .timeout_ms = (int)(options->session_timeout / CLOCK_MS),
                                  .access = access,
                                  .acl = takes_lock ? options->acl : NULL};
}

void options_release(struct options *options)
{
    free(options->lock);
    for (size_t i = 0; i < options->with_len; i++)
        free(options->with[i].path);
    free(options->with);
    servers_free(options->servers);
    free(options->access.auth_file);
    free(options->access.tls.cacert);
    free(options->access.tls.cert);
    free(options->access.tls.key);
    acl_free(options->acl);
    settings_release(&options->settings);
}
