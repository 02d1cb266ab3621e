/*
 * An ensemble that does not answer: how long that is borne, and the words for it, the same for
 * whoever asks it.
 */
#ifndef ZKFLOCK_CONTACT_H
#define ZKFLOCK_CONTACT_H

#include <stdint.h>

#include "session.h"

/* No server made a session within patience, ns; to be freed. */
char *contact_unreachable(struct session *session, const struct servers *servers, int64_t patience);

/* None has so far, and it goes on; to be freed. */
char *contact_silence(struct session *session, const struct servers *servers, int64_t patience);

/*
 * Until when the ensemble has to say something: contact that does not come back within patience,
 * ns, or the session timeout if that is longer, and a join that is not answered within patience,
 * end the wait.  joining_since is CLOCK_NEVER while no join is under way.
 */
int64_t contact_deadline(const struct session *session, int64_t patience, int64_t joining_since);

#endif
