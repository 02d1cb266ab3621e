/*
 * Somebody asks for a lock to be given up, by --revoke or as Curator's Revoker does it.  Whoever
 * runs under it gets the signal, once, as if the caller had sent it, and is left alone with it: the
 * lock is not lost.  What has not been started yet never is.
 */
#include "keeper/keeper_state.h"

#include <string.h>

#include "base/log.h"
#include "process/signals.h"

void keeper_heed_revoke(struct keeper *keeper)
{
    const struct options *options = keeper->options;
    enum lock_phase phase = lockset_phase(keeper->locks);
    const char *lock;
    const char *who;
    char signal[SIGNALS_NAME_SIZE];

    if (keeper->revoked || phase == LOCK_LEAVING || phase == LOCK_LEFT || phase == LOCK_LOST)
        return;
    who = lockset_revoked(keeper->locks, &lock);
    if (!who)
        return;
    keeper->revoked = true;
    who = *who ? who : "somebody";
    if (keeper->running) {
        log_notice("%s is sent %s: %s is asked for by %s", keeper->command->argv[0],
                   signals_name(options->signal, signal), lock, who);
        guard_ask(&keeper->guard, options->signal);
    } else {
        log_notice("%s %s: %s is asked for by %s", keeper->command->argv[0],
                   keeper->hold ? "does not get it" : "is not started", lock, who);
        keeper->ended_by = options->signal;
    }
}
