/*
 * The system's log.  Not by syslog(3), which waits for a reader that does not read: a lock must
 * not be lost for want of one.
 */
#ifndef ZKFLOCK_LOG_SYSLOG_H
#define ZKFLOCK_LOG_SYSLOG_H

#include <stddef.h>

/*
 * Sends a datagram, or drops it.  Returns 0 or errno.  Leaves no descriptor open: those who fork,
 * execute and close descriptors need not know of one.
 */
int log_syslog_send(const char *datagram, size_t len);

#endif
