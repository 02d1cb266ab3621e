#include "ensemble/contact.h"

#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "ensemble/session_state.h"

char *contact_overloaded(const struct session *session)
{
    return xasprintf("%s is overloaded and refuses requests (ZooKeeper's request throttling); try "
                     "again later",
                     servers_text(session->terms.servers));
}

char *contact_unreachable(struct session *session, int64_t patience)
{
    const char *servers = servers_text(session->terms.servers);
    char span[CLOCK_FORMAT_SIZE];
    char why[TROUBLE_SIZE];
    enum trouble_kind kind = trouble_last(&session->trouble, why);

    if (kind == TROUBLE_LOCAL)
        return xasprintf("cannot connect to %s%s", servers, why);
    if (session_overloaded(session))
        return contact_overloaded(session);
    /* What is said of TLS is more exact. */
    const char *advice =
        "; check --servers (or $" SERVERS_VARIABLE ") and that ZooKeeper runs there";

    if (session->relay && kind == TROUBLE_FAULT)
        advice = "";
    else if (strcmp(servers, SERVERS_DEFAULT) == 0)
        advice = "; other servers are named by --servers, $" SERVERS_VARIABLE
                 ", which sudo and cron do not pass on, or a config file";
    return xasprintf("no server reachable at %s within %s%s%s", servers,
                     clock_format(patience, span), why, advice);
}

enum exitcode contact_unreachable_status(struct session *session)
{
    char why[TROUBLE_SIZE];

    return trouble_last(&session->trouble, why) == TROUBLE_LOCAL ? EXITCODE_OSERR
                                                                 : EXITCODE_UNREACHABLE;
}

char *contact_not_started(int error)
{
    return xasprintf("cannot start the ZooKeeper client: %s", session_start_fault(error));
}

char *contact_refused(const struct session *session)
{
    const char *servers = servers_text(session->terms.servers);

    if (session_refused(session) == SESSION_REFUSES_CREDENTIALS)
        return xasprintf("%s does not accept the credentials of --auth-file", servers);
    return xasprintf("%s serves only clients that authenticate (ZooKeeper's enforce.auth or "
                     "sessionRequireClientSASLAuth); %s",
                     servers,
                     session_has_credentials(session)
                         ? "--auth-file or --cert is not enough for it; SASL is not supported"
                         : "give --auth-file, or --tls and --cert; SASL is not supported");
}

char *contact_no_chroot(const struct session *session)
{
    return xasprintf("the chroot %s in the list of servers does not exist; create that znode first",
                     servers_chroot(session->terms.servers));
}

char *contact_silence(struct session *session, int64_t patience)
{
    char span[CLOCK_FORMAT_SIZE];
    char why[TROUBLE_SIZE];

    trouble_last(&session->trouble, why);
    return xasprintf("no answer from %s yet%s; trying for %s", servers_text(session->terms.servers),
                     why, clock_format(patience, span));
}

char *contact_cause(struct session *session)
{
    char why[TROUBLE_SIZE];
    enum trouble_kind kind = trouble_last(&session->trouble, why);

    return xstrdup(trouble_is_exact(kind) ? why : "");
}

char *contact_lost(struct session *session, const char *doing)
{
    char *cause = contact_cause(session);
    char *text = xasprintf("lost contact with %s%s%s%s", servers_text(session->terms.servers),
                           doing ? " while " : "", doing ? doing : "", cause);

    free(cause);
    return text;
}

char *contact_mute(struct session *session, int64_t patience, const char *doing)
{
    char span[CLOCK_FORMAT_SIZE];
    char *cause = contact_cause(session);
    char *text =
        xasprintf("no answer from %s for %s while %s%s", servers_text(session->terms.servers),
                  clock_format(patience, span), doing, cause);

    free(cause);
    return text;
}

int64_t contact_deadline(const struct session *session, int64_t patience, int64_t joining_since)
{
    bool joining = joining_since != CLOCK_NEVER;
    int64_t timeout = session_timeout_ms(session) * CLOCK_MS;

    if (session_connected(session))
        return clock_add(joining_since, patience);
    return clock_add(session_disconnected_since(session),
                     joining || patience > timeout ? patience : timeout);
}
