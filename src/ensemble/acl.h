/*
 * The ACL of the znodes that zkflock makes.
 *
 *     open            everybody may do everything
 *     creator         only whoever has the credentials of the client that makes it
 *     creator-read    the same, and everybody may read
 *     SCHEME:ID:PERMS,...   as zkCli.sh writes it; PERMS are some of c, d, r, w and a
 */
#ifndef ZKFLOCK_ACL_H
#define ZKFLOCK_ACL_H

#include <stdbool.h>

#include <zookeeper/zookeeper.h>

/*
 * Reads one of these.  Returns a new ACL, or NULL and *fault: what is wrong with it, in words that
 * follow its name, to be freed.
 */
struct ACL_vector *acl_parse(const char *text, char **fault);

/*
 * Returns true if a client without credentials cannot create a znode with this ACL, or could not
 * use it; false for NULL.
 */
bool acl_needs_credentials(const struct ACL_vector *acl);

/* Returns whether it is open. */
bool acl_is_open(const struct ACL_vector *acl);

/* Returns a copy, to be freed; of NULL, NULL. */
struct ACL_vector *acl_copy(const struct ACL_vector *acl);

/*
 * Makes the ACL of a znode from that of the one that it is to stand in: the same, and everything
 * for the client itself, which has to have credentials; without that if clients without credentials
 * would be told the hash of its password.  Returns a new ACL, or NULL if that one is not told
 * whole: servers hide such hashes from clients that have no ADMIN.
 */
struct ACL_vector *acl_inherit(const struct ACL_vector *above);

/* NULL is allowed. */
void acl_free(struct ACL_vector *acl);

#endif
