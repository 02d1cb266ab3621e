/*
 * An ensemble that does not answer: how long that is borne, and the words for it, the same for
 * whoever asks it.
 */
#ifndef ZKFLOCK_CONTACT_H
#define ZKFLOCK_CONTACT_H

#include <stdint.h>

#include "base/exitcode.h"
#include "ensemble/session.h"

/* No server made a session within patience, ns; to be freed.  And the exit status for it. */
char *contact_unreachable(struct session *session, int64_t patience);
enum exitcode contact_unreachable_status(struct session *session);

/* session_overloaded(), for longer than is borne; to be freed. */
char *contact_overloaded(const struct session *session);

/* The session could not be opened, with this errno; to be freed. */
char *contact_not_started(int error);

/* session_refused(); to be freed. */
char *contact_refused(const struct session *session);

/* The servers have no znode for the chroot of their list; to be freed. */
char *contact_no_chroot(const struct session *session);

/* No server has answered so far, and the caller goes on trying; to be freed. */
char *contact_silence(struct session *session, int64_t patience);

/* Says that contact was lost, while doing what doing says if it is not NULL; to be freed. */
char *contact_lost(struct session *session, const char *doing);

/* Says that connected servers have not answered for patience, ns; to be freed. */
char *contact_mute(struct session *session, int64_t patience, const char *doing);

/*
 * Returns why there is no contact, as the end of a clause (": certificate has expired"), or "" if
 * that is not known; to be freed.
 */
char *contact_cause(struct session *session);

/*
 * Until when the ensemble has to say something, with patience in ns.  While a join is under way,
 * which has nothing to lose, it has to answer, or contact to come back, within patience; later,
 * when joining_since is CLOCK_NEVER, contact may also take the session timeout to come back, since
 * the place in the queue is kept for so long.  The timeout is the server's word: what only says
 * that it is a server may name weeks.
 */
int64_t contact_deadline(const struct session *session, int64_t patience, int64_t joining_since);

#endif
