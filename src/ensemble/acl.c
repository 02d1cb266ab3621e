#include "ensemble/acl.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

/* In the order of their bits in the protocol, ZOO_PERM_READ first. */
static const char letters[] = "rwcda";

/* The rights that a contender needs; it does not need ADMIN, which is to change the ACL. */
#define TO_CONTEND (ZOO_PERM_READ | ZOO_PERM_WRITE | ZOO_PERM_CREATE | ZOO_PERM_DELETE)

/* The length of a SHA-1 in base64, padding included. */
enum { HASH_LEN = 28 };

static const struct {
    const char *name;
    const char *list;
} names[] = {
    {"open", "world:anyone:cdrwa"},
    {"creator", "auth::cdrwa"},
    {"creator-read", "auth::cdrwa,world:anyone:r"},
};

/* Returns the permissions that these letters stand for; 0 if one of them stands for none. */
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

/* Returns the last colon of an entry, or NULL. */
static const char *last_colon(const char *entry, size_t len)
{
    return memrchr(entry, ':', len);
}

/* Returns true if this is SCHEME:ID:PERMS. */
static bool is_entry(const char *entry, size_t len)
{
    const char *first = memchr(entry, ':', len);
    const char *last = last_colon(entry, len);

    return first && first > entry && strcspn(entry, ", \t") >= (size_t)(first - entry) &&
           last > first && permissions(last + 1, len - (size_t)(last + 1 - entry)) != 0;
}

/*
 * Returns the length of the first entry of a list, or 0.  An ID may contain commas, as the subject
 * of a certificate does: an entry ends at the first comma that makes it a whole entry.
 */
static size_t entry_length(const char *list)
{
    size_t len = strcspn(list, ",");

    while (list[len] && !is_entry(list, len))
        len += 1 + strcspn(list + len + 1, ",");
    return is_entry(list, len) ? len : 0;
}

/* Appends an entry, which takes over the two strings. */
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

/* Returns true for an entry that gives rights to clients without credentials. */
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

/* Returns all permissions that the list gives to the client of entry i. */
static int of_one(const struct ACL_vector *acl, int i)
{
    int perms = of_everybody(acl);

    for (int j = 0; j < acl->count; j++)
        if (strcmp(acl->data[j].id.scheme, acl->data[i].id.scheme) == 0 &&
            strcmp(acl->data[j].id.id, acl->data[i].id.id) == 0)
            perms |= acl->data[j].perms;
    return perms;
}

/* Returns true for a digest that is not USER:HASH; the hash is a SHA-1 in base64. */
static bool is_bad_digest(const struct ACL *one)
{
    const char *hash = strchr(one->id.id, ':');

    return strcmp(one->id.scheme, "digest") == 0 && (!hash || strlen(hash + 1) != HASH_LEN);
}

/* Returns what is wrong with the list as a whole; NULL if nothing is. */
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
            return true; /* servers refuse this scheme from a client without them */
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

/* Returns true if the server has replaced the hash of a password by "x". */
static bool is_masked(const struct ACL *one)
{
    const char *colon = strchr(one->id.id, ':');

    return strcmp(one->id.scheme, "digest") == 0 && colon && strcmp(colon, ":x") == 0;
}

/* Returns true if clients without credentials can read the whole ACL, hashes included. */
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
    /* An own entry has the hash of the own password, which everybody with ADMIN can read. */
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
