/*
 * The ACL of the own znode, which a client with credentials takes from the lock; see struct
 * own_acl.
 */
#include "lock/lock_parts.h"

#include "base/log.h"
#include "ensemble/acl.h"

/*
 * Warns, and returns the ACL for the own znode where the server hides a part of the lock's.  That
 * is NULL for the ACL of --acl; without --acl it is one that lets others watch the own znode but
 * not ask its holder to end.
 */
static struct ACL_vector *guess(const struct lock *lock)
{
    char *fault;
    bool given = !acl_is_open(session_acl(lock->session));

    log_warning("the server hides a part of the ACL of %s from this client, which lacks ADMIN: %s",
                lock->path,
                given ? "its znode there has the ACL of --acl, and a client that may not read it "
                        "cannot wait behind it (status 77)"
                      : "its znode there has the ACL creator-read");
    return given ? NULL : acl_parse("creator-read", &fault);
}

void own_acl_note(struct lock *lock, const struct session_event *event)
{
    struct own_acl *acl = &lock->acl;

    acl_free(acl->list);
    *acl = (struct own_acl){.state = acl->state};
    if (event->rc != ZOK)
        return;
    acl->list = acl_inherit(event->acl);
    if (!acl->list)
        acl->list = guess(lock);
    acl->czxid = event->stat.czxid;
    acl->aversion = event->stat.aversion;
}

void own_acl_take_sessions(struct lock *lock, int64_t czxid, int32_t aversion)
{
    acl_free(lock->acl.list);
    lock->acl = (struct own_acl){.state = ACL_ASKED, .czxid = czxid, .aversion = aversion};
}

bool own_acl_is_doubtful(const struct lock *lock)
{
    return !acl_lets_creator_read(lock->acl.list ? lock->acl.list : session_acl(lock->session));
}
