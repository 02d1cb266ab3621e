/*
 * ACLs for the fuzz targets, as text.
 */
#ifndef FUZZ_ACL_TEXT_H
#define FUZZ_ACL_TEXT_H

#include <zookeeper/zookeeper.h>

#include "fuzz.h"

/* Prints SCHEME:ID:PERMS,..., to be freed; "-" for NULL. */
static inline char *acl_text(const struct ACL_vector *acl)
{
    static const char letters[] = "rwcda";
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        abort();
    if (!acl)
        fputc('-', out);
    for (int i = 0; acl && i < acl->count; i++) {
        const struct ACL *one = &acl->data[i];

        fprintf(out, "%s%s:%s:", i ? "," : "", one->id.scheme, one->id.id);
        for (int bit = 0; bit < 5; bit++)
            if (one->perms & 1 << bit)
                fputc(letters[bit], out);
    }
    fclose(out);
    return text;
}

#endif
