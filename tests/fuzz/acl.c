/*
 * --acl.  What is taken gives somebody the rights that a contender needs, and, printed as
 * SCHEME:ID:PERMS,..., is read as the same list.
 */
#include "ensemble/acl.h"

#include "fuzz.h"

static char *print(const struct ACL_vector *acl)
{
    static const char letters[] = "rwcda";
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        abort();
    for (int i = 0; i < acl->count; i++) {
        const struct ACL *one = &acl->data[i];

        fprintf(out, "%s%s:%s:", i ? "," : "", one->id.scheme, one->id.id);
        for (int bit = 0; bit < 5; bit++)
            if (one->perms & 1 << bit)
                fputc(letters[bit], out);
    }
    fclose(out);
    return text;
}

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

static void check(const struct ACL_vector *acl)
{
    int all = 0;

    MUST(acl->count > 0);
    for (int i = 0; i < acl->count; i++) {
        MUST(acl->data[i].perms > 0 && acl->data[i].perms <= ZOO_PERM_ALL);
        MUST(acl->data[i].id.scheme[0] != '\0');
        all |= acl->data[i].perms;
    }
    MUST((all & ~ZOO_PERM_ADMIN) == (ZOO_PERM_ALL & ~ZOO_PERM_ADMIN));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = fuzz_text(bytes, size);
    char *fault = NULL;
    struct ACL_vector *acl = acl_parse(text, &fault);

    MUST((acl == NULL) == (fault != NULL));
    if (acl) {
        char *printed = print(acl);
        struct ACL_vector *again = acl_parse(printed, &fault);

        check(acl);
        check_same(acl, again);
        acl_free(again);
        free(printed);
    }
    acl_free(acl);
    free(fault);
    free(text);
    return 0;
}
