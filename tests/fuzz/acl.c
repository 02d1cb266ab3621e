/*
 * ACLs.  A text that --acl takes gives somebody the rights that a contender needs, and, printed as
 * SCHEME:ID:PERMS,..., it is read as the same list.  A copy prints the same.  The ACL that a
 * contender inherits is that of its lock, followed by everything for the client unless some without
 * a password are ADMIN; with a hidden hash in it there is none.
 */
#include "ensemble/acl.h"

#include "acl_text.h"

enum { ENTRIES_MAX = 4, HASH_LEN = 28 };

static void check_same(const struct ACL_vector *acl, const struct ACL_vector *again)
{
    MUST(again != NULL && again->count == acl->count);
    for (int i = 0; i < acl->count; i++) {
        MUST(strcmp(acl->data[i].id.scheme, again->data[i].id.scheme) == 0);
        MUST(strcmp(acl->data[i].id.id, again->data[i].id.id) == 0);
        MUST(acl->data[i].perms == again->data[i].perms);
    }
    MUST(acl_is_open(acl) == acl_is_open(again));
    MUST(acl_needs_credentials(acl) == acl_needs_credentials(again));
}

static void check_again(const struct ACL_vector *acl)
{
    char *fault = NULL;
    char *text = acl_text(acl);
    struct ACL_vector *again = acl_parse(text, &fault);

    check_same(acl, again);
    acl_free(again);
    free(text);
}

static void check_copy(const struct ACL_vector *acl)
{
    struct ACL_vector *copy = acl_copy(acl);
    char *text = acl_text(acl);
    char *text_of_copy = acl_text(copy);

    check_same(acl, copy);
    MUST(strcmp(text, text_of_copy) == 0);
    MUST(acl->count == 0 || copy->data != acl->data);
    free(text_of_copy);
    free(text);
    acl_free(copy);
}

/* Returns true if a server has hidden the hash of this one. */
static bool is_masked(const struct ACL *one)
{
    const char *colon = strchr(one->id.id, ':');

    return strcmp(one->id.scheme, "digest") == 0 && colon && strcmp(colon + 1, "x") == 0;
}

/* Returns true if clients are ADMIN that need no password. */
static bool has_anonymous_admin(const struct ACL_vector *acl)
{
    bool has = false;

    for (int i = 0; i < acl->count; i++) {
        const char *scheme = acl->data[i].id.scheme;

        has |= (strcmp(scheme, "world") == 0 || strcmp(scheme, "ip") == 0) &&
               acl->data[i].perms & ZOO_PERM_ADMIN;
    }
    return has;
}

/* Returns what acl_inherit() made, to be freed. */
static struct ACL_vector *check_inherit(const struct ACL_vector *above)
{
    struct ACL_vector *acl = acl_inherit(above);
    int added = has_anonymous_admin(above) ? 0 : 1;
    bool masked = false;

    for (int i = 0; i < above->count; i++)
        masked |= is_masked(&above->data[i]);
    MUST((acl == NULL) == masked);
    if (!acl)
        return NULL;
    MUST(acl->count == above->count + added);
    MUST(acl_needs_credentials(acl) == (added || acl_needs_credentials(above)));
    MUST(acl_is_open(acl) == acl_is_open(above));
    if (added) {
        const struct ACL *last = &acl->data[acl->count - 1];

        MUST(strcmp(last->id.scheme, "auth") == 0 && last->id.id[0] == '\0');
        MUST(last->perms == ZOO_PERM_ALL);
    }
    for (int i = 0; i < above->count; i++) {
        MUST(strcmp(acl->data[i].id.scheme, above->data[i].id.scheme) == 0);
        MUST(strcmp(acl->data[i].id.id, above->data[i].id.id) == 0);
        MUST(acl->data[i].perms == above->data[i].perms);
    }
    return acl;
}

static void check(const struct ACL_vector *acl)
{
    int all = 0;

    MUST(acl->count > 0);
    for (int i = 0; i < acl->count; i++) {
        MUST(acl->data[i].perms > 0 && acl->data[i].perms <= ZOO_PERM_ALL);
        MUST(acl->data[i].id.scheme[0] != '\0');
        if (strcmp(acl->data[i].id.scheme, "digest") == 0) {
            const char *colon = strchr(acl->data[i].id.id, ':');

            MUST(colon && strlen(colon + 1) == HASH_LEN);
        }
        all |= acl->data[i].perms;
    }
    MUST((all & ~ZOO_PERM_ADMIN) == (ZOO_PERM_ALL & ~ZOO_PERM_ADMIN));
}

static void check_parsed(const struct ACL_vector *acl)
{
    struct ACL_vector *inherited;

    check(acl);
    check_again(acl);
    check_copy(acl);
    inherited = check_inherit(acl);
    MUST(inherited != NULL); /* no hash is hidden */
    check_again(inherited);
    acl_free(inherited);
}

/* An ACL that a server tells: anything. */
static void check_told(struct fuzz_input input)
{
    static const char *const schemes[] = {"world", "digest", "auth", "x509"};
    static const char *const ids[] = {"anyone", "a:x", "a:b:x"};
    struct ACL told[ENTRIES_MAX] = {0};
    struct ACL_vector acl = {.count = (int32_t)fuzz_below(&input, ENTRIES_MAX + 1), .data = told};

    for (int i = 0; i < acl.count; i++) {
        unsigned int scheme = fuzz_below(&input, 5);
        unsigned int id = fuzz_below(&input, 4);

        told[i].perms = (int32_t)fuzz_byte(&input);
        told[i].id.scheme = scheme < 4 ? strdup(schemes[scheme]) : fuzz_draw_text(&input, 20);
        told[i].id.id = id < 3 ? strdup(ids[id]) : fuzz_draw_text(&input, 40);
        if (!told[i].id.scheme || !told[i].id.id)
            abort();
    }
    check_copy(&acl);
    acl_free(check_inherit(&acl));
    for (int i = 0; i < acl.count; i++) {
        free(told[i].id.scheme);
        free(told[i].id.id);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = fuzz_text(bytes, size);
    char *fault = NULL;
    struct ACL_vector *acl = acl_parse(text, &fault);

    MUST((acl == NULL) == (fault != NULL));
    MUST(acl_copy(NULL) == NULL);
    if (acl)
        check_parsed(acl);
    check_told((struct fuzz_input){bytes, size});
    acl_free(acl);
    free(fault);
    free(text);
    return 0;
}
