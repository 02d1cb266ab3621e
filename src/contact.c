#include "contact.h"

#include "clock.h"
#include "xalloc.h"

/* What went wrong last, as the end of a clause. */
static const char *reason(struct session *session, char text[130])
{
    text[0] = ':';
    text[1] = ' ';
    return session_trouble(session, text + 2, 128) ? text : "";
}

char *contact_unreachable(struct session *session, const struct servers *servers, int64_t patience)
{
    char span[CLOCK_FORMAT_SIZE];
    char why[130];

    return xasprintf("no server reachable at %s within %s%s; check --servers (or $ZKFLOCK_SERVERS) "
                     "and that ZooKeeper runs there",
                     servers_text(servers), clock_format(patience, span), reason(session, why));
}

char *contact_silence(struct session *session, const struct servers *servers, int64_t patience)
{
    char span[CLOCK_FORMAT_SIZE];
    char why[130];

    return xasprintf("no answer from %s yet%s; trying for %s", servers_text(servers),
                     reason(session, why), clock_format(patience, span));
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
