#include "ensemble/access.h"

#include <stddef.h>

int access_open(struct access *access, const struct access_terms *terms, char **fault)
{
    enum exitcode status = EXITCODE_CONFIG;

    *access = (struct access){0};
    *fault = NULL;
    if (terms->auth_file)
        access->credentials = credentials_read(terms->auth_file, &status, fault);
    if (!*fault && terms->use_tls)
        access->tls = tls_new(&terms->tls, &status, fault);
    if (!*fault)
        return 0;
    access_close(access);
    return (int)status;
}

void access_close(struct access *access)
{
    credentials_free(access->credentials);
    tls_free(access->tls);
    *access = (struct access){0};
}
