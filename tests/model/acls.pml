/*
 * ACLS: contenders have credentials.  Each asks for the ACL of the lock before it joins, and gives it
 * to its znode.  With REMOVES the lock may be removed meanwhile, and made again with another ACL.  So a
 * contender compares the lock's znode behind its create, and behind each list until they agree; if it
 * is another one, the contender counts itself out and asks again.  Who may not read the ACL ends, and
 * has made nothing.
 *
 * What is shown: who waits or holds has a znode with the ACL of the lock.
 *
 * Each of these breaks one rule:
 *   ACLS_UNCOMPARED  the lock is not compared
 *   ACLS_ONCE        it is compared behind the create alone, not if the answer to that was lost, nor if
 *                    the count changed before the contender had counted itself out
 */
#ifdef ACLS

bool acl; /* of the lock: which one of two */

#define SEEN_OF_ACL bool seen_acl, other_acl
#define FORGET_ACL other_acl = false
#define OTHER_ACL other_acl
#define CHANGE_ACL acl = !acl
#ifdef ACLS_UNCOMPARED
#define COMPARE_ACL skip
#else
#define COMPARE_ACL other_acl = (acl != seen_acl)
#endif
#ifdef ACLS_ONCE
#define COMPARE_AGAIN other_acl = false
#else
#define COMPARE_AGAIN COMPARE_ACL
#endif
#define CHECK_ACL assert(place[me] == 0 || seen_acl == acl)

#else
#define SEEN_OF_ACL
#define FORGET_ACL skip
#define OTHER_ACL false
#define CHANGE_ACL skip
#define COMPARE_ACL skip
#define COMPARE_AGAIN skip
#define CHECK_ACL skip
#endif
