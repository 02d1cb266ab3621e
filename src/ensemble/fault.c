#include "ensemble/fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "ensemble/session.h"
#include "ensemble/znode.h"

/* Has no name in the library's header. */
enum { QUOTA_EXCEEDED = -125 };

static const struct fault {
    int rc;
    enum exitcode status;
    const char *text;
} faults[] = {
    {ZNOAUTH, EXITCODE_NOPERM, "not permitted"},
    {ZAUTHFAILED, EXITCODE_NOPERM, "the server does not accept this client's authentication"},
    {ZINVALIDACL, EXITCODE_NOPERM,
     "the server does not accept the ACL that --acl names: it does not know a scheme, an ID is "
     "none of its scheme, or it has not authenticated this client"},
    {QUOTA_EXCEEDED, EXITCODE_CONFIG, "the quota of this znode or one above it is used up"},
    {ZNOCHILDRENFOREPHEMERALS, EXITCODE_CONFIG,
     "an ephemeral znode stands in the way; choose another LOCK"},
    {ZNOTEMPTY, EXITCODE_CONFIG, "there are znodes below it; remove these first"},
    {ZNOTREADONLY, EXITCODE_UNREACHABLE, "the server has lost its ensemble"},
    {0, EXITCODE_INTERNAL, NULL}, /* any other */
};

/* What a request takes: one right, on the znode itself or on the one that it stands in. */
static const struct {
    const char *what;
    const char *right;
    bool above;
} rights[] = {
    {"create", "CREATE", true}, {"create a znode in", "CREATE", false},
    {"delete", "DELETE", true}, {"list", "READ", false},
    {"read", "READ", false},    {"watch", "READ", false},
    {"check", "READ", false},   {"write to", "WRITE", false},
    {NULL, NULL, false},
};

static const struct fault *find(int rc)
{
    const struct fault *fault = faults;

    while (fault->rc && fault->rc != rc)
        fault++;
    return fault;
}

const char *fault_text(int rc)
{
    const char *text = find(rc)->text;

    return text ? text : zerror(rc);
}

enum exitcode fault_status(int rc)
{
    return find(rc)->status;
}

bool fault_is_lack(long error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

static char *not_permitted(const char *what, const char *path)
{
    size_t i = 0;
    char *above;
    char *sentence;

    while (rights[i].what && strcmp(rights[i].what, what) != 0)
        i++;
    if (!rights[i].what)
        return xasprintf("not permitted to %s %s", what, path);
    if (!rights[i].above)
        return xasprintf("not permitted to %s %s: its ACL does not give this client %s", what, path,
                         rights[i].right);
    above = znode_above(path);
    sentence = xasprintf("not permitted to %s %s: the ACL of %s does not give this client %s", what,
                         path, above, rights[i].right);
    free(above);
    return sentence;
}

char *fault_sentence(int rc, const char *what, const char *path)
{
    if (rc == ZNOAUTH)
        return not_permitted(what, path);
    if (fault_status(rc) != EXITCODE_INTERNAL)
        return xasprintf("cannot %s %s: %s", what, path, fault_text(rc));
    return xasprintf("cannot %s %s: %s (ZooKeeper error %d)", what, path, fault_text(rc), rc);
}
