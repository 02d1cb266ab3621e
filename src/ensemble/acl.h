/*
 * The ACL of the znodes that zkflock creates.
 *
 *     open            everybody has all rights
 *     creator         only clients with a credential of the creator have rights, and they have all
 *     creator-read    the same, and everybody may read
 *     SCHEME:ID:PERMS,...   as in zkCli.sh; PERMS are some of c, d, r, w and a
 */
#ifndef ZKFLOCK_ACL_H
#define ZKFLOCK_ACL_H

#include <stdbool.h>

#include <zookeeper/zookeeper.h>

/*
 * Parses one of these.  Returns a new ACL; or NULL with *fault, words that follow the option's name
 * and that the caller frees.
 */
struct ACL_vector *acl_parse(const char *text, char **fault);

/*
 * Returns true if a client without credentials cannot create a znode with this ACL, or cannot use a
 * lock with it; false for NULL.
 */
bool acl_needs_credentials(const struct ACL_vector *acl);

/* Returns true if the ACL gives everybody all rights. */
bool acl_is_open(const struct ACL_vector *acl);

/* Returns a copy for acl_free(); NULL for NULL. */
struct ACL_vector *acl_copy(const struct ACL_vector *acl);

/*
 * Makes the ACL of a child from that of the znode above it: the same entries, and one with all
 * rights for the client itself, which must have credentials.  Leaves that entry out if clients
 * without credentials could read the hash of the client's password in it.  Returns a new ACL; or
 * NULL if the server has hidden a part of above, as it hides hashes from clients without ADMIN.
 */
struct ACL_vector *acl_inherit(const struct ACL_vector *above);

/* Frees an ACL; NULL is allowed. */
void acl_free(struct ACL_vector *acl);

#endif
