/*
 * The words for an ensemble that does not answer, the same for whoever asks it.
 */
#ifndef ZKFLOCK_CONTACT_H
#define ZKFLOCK_CONTACT_H

#include <stdint.h>

#include "session.h"

/* No server made a session within patience, ns; to be freed. */
char *contact_unreachable(struct session *session, const struct servers *servers, int64_t patience);

/* None has so far, and it goes on; to be freed. */
char *contact_silence(struct session *session, const struct servers *servers, int64_t patience);

#endif
