#include "ensemble/acl.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

/* In the order of their bits in the protocol, ZOO_PERM_READ first. */
static const char letters[] = "rwcda";

/* What a contender needs: ADMIN, to change the ACL, is not among it. */
#define TO_CONTEND (ZOO_PERM_READ | ZOO_PERM_WRITE | ZOO_PERM_CREATE | ZOO_PERM_DELETE)

/* In base64, with its padding. */
enum { HASH_LEN = 28 };

static const struct {
    const char *name;
    const char *list;
} names[] = {
    {"open", "world:anyone:cdrwa"},
    {"creator", "auth::cdrwa"},
    {"creator-read", "auth::cdrwa,world:anyone:r"},
};

/* Returns the permissions that a text of some letters gives; 0: it is none. */
static int permissions(const char *text, size_t len)
{
    int perms = 0;

    for (size_t i = 0; i < len; i++) {
        const char *letter = memchr(letters, text[i], sizeof(letters) - 1);

        if (!letter)
            return 0;
        perms |= 1 << (letter - letters);
    }
    return perms;
}

/* Returns the last colon of an entry; NULL: there is none. */
static const char *last_colon(const char *entry, size_t len)
{
    return memrchr(entry, ':', len);
}

/* Returns whether this is SCHEME:ID:PERMS. */
static bool is_entry(const char *entry, size_t len)
{
    const char *first = memchr(entry, ':', len);
    const char *last = last_colon(entry, len);

    return first && first > entry && strcspn(entry, ", \t") >= (size_t)(first - entry) &&
           last > first && permissions(last + 1, len - (size_t)(last + 1 - entry)) != 0;
}

/*
 * Returns the length of the first entry of a list; 0: there is none.  The names in a certificate
 * have commas: an entry ends at the first one before which it is whole.
 */
static size_t entry_length(const char *list)
{
    size_t len = strcspn(list, ",");

    while (list[len] && !is_entry(list, len))
        len += 1 + strcspn(list + len + 1, ",");
    return is_entry(list, len) ? len : 0;
}

/* Takes the two strings. */
static void append(struct ACL_vector *acl, char *scheme, char *id, int perms)
{
    acl->data = xreallocarray(acl->data, (size_t)acl->count + 1, sizeof(acl->data[0]));
    acl->data[acl->count++] = (struct ACL){.perms = perms, .id = {.scheme = scheme, .id = id}};
}

static void append_entry(struct ACL_vector *acl, const char *entry, size_t len)
{
    const char *id = memchr(entry, ':', len);
    const char *end = last_colon(entry, len);

    append(acl, xstrndup(entry, (size_t)(id - entry)), xstrndup(id + 1, (size_t)(end - id - 1)),
           permissions(end + 1, len - (size_t)(end + 1 - entry)));
}

static bool is_world(const struct ACL *one)
{
    return strcmp(one->id.scheme, "world") == 0;
}

/* Returns true for an entry that clients without credentials are meant by. */
static bool is_anonymous(const struct ACL *one)
{
    return is_world(one) || strcmp(one->id.scheme, "ip") == 0;
}

/* Returns the permissions that everybody has. */
static int of_everybody(const struct ACL_vector *acl)
{
    int perms = 0;

    for (int i = 0; i < acl->count; i++)
        if (is_world(&acl->data[i]))
            perms |= acl->data[i].perms;
    return perms;
}

/* Returns the permissions that the one of entry i has by the whole list. */
static int of_one(const struct ACL_vector *acl, int i)
{
    int perms = of_everybody(acl);

    for (int j = 0; j < acl->count; j++)
        if (strcmp(acl->data[j].id.scheme, acl->data[i].id.scheme) == 0 &&
            strcmp(acl->data[j].id.id, acl->data[i].id.id) == 0)
            perms |= acl->data[j].perms;
    return perms;
}

/* Returns true for what is no USER:HASH, the hash being SHA-1 in base64. */
static bool is_bad_digest(const struct ACL *one)
{
    const char *hash = strchr(one->id.id, ':');

    return strcmp(one->id.scheme, "digest") == 0 && (!hash || strlen(hash + 1) != HASH_LEN);
}

/* Says what is wrong with a list as a whole; NULL: nothing. */
static const char *list_fault(const struct ACL_vector *acl)
{
    bool usable = false;

    for (int i = 0; i < acl->count; i++) {
        if (is_world(&acl->data[i]) && strcmp(acl->data[i].id.id, "anyone") != 0)
            return "has another world than world:anyone";
        if (is_bad_digest(&acl->data[i]))
            return "has a digest that is not USER:HASH: the HASH is printed by openssl, see "
                   "zkflock(7), RIGHTS";
        usable |= (of_one(acl, i) & TO_CONTEND) == TO_CONTEND;
    }
    return usable ? NULL
                  : "gives nobody all of c, d, r and w, without which nobody could use the lock";
}

struct ACL_vector *acl_parse(const char *text, char **fault)
{
    struct ACL_vector *acl = xcalloc(1, sizeof(*acl));
    const char *wrong = NULL;
    size_t len;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(text, names[i].name) == 0)
            text = names[i].list;
    while ((len = entry_length(text)) > 0) {
        append_entry(acl, text, len);
        text += len;
        if (!*text)
            break;
        text++;
    }
    if (len == 0)
        *fault = xasprintf("takes open, creator, creator-read or SCHEME:ID:PERMS,..., where PERMS "
                           "are some of cdrwa; not '%.64s'",
                           text);
    else if ((wrong = list_fault(acl)))
        *fault = xstrdup(wrong);
    else
        return acl;
    acl_free(acl);
    return NULL;
}

bool acl_needs_credentials(const struct ACL_vector *acl)
{
    bool serves_anybody = !acl;

    for (int i = 0; acl && i < acl->count; i++) {
        const struct ACL *one = &acl->data[i];

        if (strcmp(one->id.scheme, "auth") == 0)
            return true; /* servers refuse it from a client without */
        serves_anybody |= is_anonymous(one) && (of_one(acl, i) & TO_CONTEND) == TO_CONTEND;
    }
    return !serves_anybody;
}

bool acl_is_open(const struct ACL_vector *acl)
{
    return of_everybody(acl) == ZOO_PERM_ALL;
}

struct ACL_vector *acl_copy(const struct ACL_vector *acl)
{
    struct ACL_vector *copy = acl ? xcalloc(1, sizeof(*copy)) : NULL;

    for (int i = 0; acl && i < acl->count; i++)
        append(copy, xstrdup(acl->data[i].id.scheme), xstrdup(acl->data[i].id.id),
               acl->data[i].perms);
    return copy;
}

/* Returns whether a server has put an "x" in the place of a password's hash. */
static bool is_masked(const struct ACL *one)
{
    const char *colon = strchr(one->id.id, ':');

    return strcmp(one->id.scheme, "digest") == 0 && colon && strcmp(colon, ":x") == 0;
}

/* Returns true if others than those with credentials are told all of the ACL. */
static bool is_shown_to_others(const struct ACL_vector *acl)
{
    for (int i = 0; i < acl->count; i++)
        if (is_anonymous(&acl->data[i]) && acl->data[i].perms & ZOO_PERM_ADMIN)
            return true;
    return false;
}

struct ACL_vector *acl_inherit(const struct ACL_vector *above)
{
    struct ACL_vector *acl;

    for (int i = 0; i < above->count; i++)
        if (is_masked(&above->data[i]))
            return NULL;
    acl = acl_copy(above);
    /* Where clients without a password are ADMIN, they would be told the hash of the own one. */
    if (!is_shown_to_others(acl))
        append(acl, xstrdup("auth"), xstrdup(""), ZOO_PERM_ALL);
    return acl;
}

void acl_free(struct ACL_vector *acl)
{
    if (!acl)
        return;
    for (int i = 0; i < acl->count; i++) {
        free(acl->data[i].id.scheme);
        free(acl->data[i].id.id);
    }
    free(acl->data);
    free(acl);
}
