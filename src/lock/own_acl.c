/*
 * The ACL of the own znode, which is that of the lock: see struct own_acl.
 */
#include "lock/lock_parts.h"

#include "base/log.h"
#include "ensemble/acl.h"

void own_acl_note(struct lock *lock, const struct session_event *event)
{
    struct own_acl *acl = &lock->acl;

    acl_free(acl->list);
    acl->list = event->rc == ZOK ? acl_inherit(event->acl) : NULL;
    acl->czxid = event->rc == ZOK ? event->stat.czxid : 0;
    acl->aversion = event->stat.aversion;
    if (event->rc == ZOK && !acl->list)
        log_warning("the ACL of %s is not shown whole to this client, which lacks ADMIN: %s",
                    lock->path,
                    acl_is_open(session_acl(lock->session))
                        ? "its contenders there are open to everybody; give --acl"
                        : "its contenders there have the ACL of --acl, and who waits behind one "
                          "and may not read it ends with status 77");
}

void own_acl_take_sessions(struct lock *lock, int64_t czxid, int32_t aversion)
{
    acl_free(lock->acl.list);
    lock->acl = (struct own_acl){.state = ACL_ASKED, .czxid = czxid, .aversion = aversion};
}
