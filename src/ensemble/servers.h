/*
 * The servers of an ensemble: "HOST:PORT,HOST:PORT,.../chroot" as users write it, resolved here.
 *
 * The client library is only ever given IP literals, and an odd number of them: with host names
 * its I/O thread looks them up on every turn and spins when that fails, and with an even number
 * it never tries half of them after a failure (ZOOKEEPER-2466).
 */
#ifndef ZKFLOCK_SERVERS_H
#define ZKFLOCK_SERVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVERS_DEFAULT_PORT 2181
#define SERVERS_DEFAULT "127.0.0.1:2181"

/* In the environment: the servers. */
#define SERVERS_VARIABLE "ZKFLOCK_SERVERS"

struct servers;

/*
 * Reads a connect string.  A host without a port gets SERVERS_DEFAULT_PORT; an IPv6 address stands
 * in brackets.  Returns a new object, or NULL and *fault, a sentence to be freed by the caller.
 */
struct servers *servers_parse(const char *text, char **fault);

/*
 * Returns true if two connect strings that can be read mean the same: the same chroot, and a host
 * and port in common, since a server belongs to one ensemble.  Compares names, and does not look
 * them up.
 */
bool servers_alike(const char *text, const char *other);

/*
 * Returns true if each host and port of a connect string is in the other one, whatever the chroots.
 * Compares names, too.
 */
bool servers_within(const char *text, const char *all);

/* The connect string as the user wrote it, for messages. */
const char *servers_text(const struct servers *servers);

/*
 * Looks every name up, until the deadline at the latest, and forgets what was found before.  Names
 * that cannot be resolved are warned of, once, while others can be.  Starts a thread where there
 * are names and not addresses alone, so fork before.  Returns 0, or -1 and *fault as above if not
 * one address is known.  stop_fd, unless -1, ends the wait when it becomes readable: returns -1
 * with *fault NULL.
 */
int servers_resolve(struct servers *servers, int64_t deadline, int stop_fd, char **fault);

/*
 * The resolved addresses as the client library wants them ("10.0.0.1:2181,::1:2181/chroot"), the
 * list turned by attempt places so that each attempt starts with another server; to be freed.
 * With ports, one for each address, they are these ports of loopback.
 */
char *servers_connect_string(const struct servers *servers, unsigned int attempt,
                             const uint16_t *ports);

/* The resolved addresses as one line of text, to be freed. */
char *servers_export_addresses(const struct servers *servers);

/*
 * The same with the names of each, and back: for another process that has parsed the same text but
 * not resolved it.
 */
char *servers_export(const struct servers *servers);
void servers_import(struct servers *servers, const char *line);

/* "" where there is none, else it begins with a slash. */
const char *servers_chroot(const struct servers *servers);

/*
 * Returns true if a path below the own chroot is the same znode as another's path, its chroot
 * included, where that one's servers have these addresses (a line of servers_export_addresses()):
 * one address in common makes it the same ensemble.
 */
bool servers_same_place(const struct servers *servers, const char *path, const char *addresses,
                        const char *other_path);

/* How many addresses were found. */
unsigned int servers_count(const struct servers *servers);

/* One of these, and the count names by which the user called it. */
const char *servers_address(const struct servers *servers, size_t i);
const char *const *servers_names(const struct servers *servers, size_t i, size_t *count);

void servers_free(struct servers *servers);

#endif
