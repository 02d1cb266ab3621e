/*
 * What it takes to be let in by an ensemble that is secured: credentials, and TLS.
 */
#ifndef ZKFLOCK_ACCESS_H
#define ZKFLOCK_ACCESS_H

#include <stdbool.h>

#include "base/exitcode.h"
#include "ensemble/credentials.h"
#include "ensemble/tls.h"

/* In the environment: the same as the options of these names. */
#define ACCESS_TLS_VARIABLE "ZKFLOCK_TLS"
#define ACCESS_CACERT_VARIABLE "ZKFLOCK_TLS_CACERT"
#define ACCESS_CERT_VARIABLE "ZKFLOCK_TLS_CERT"
#define ACCESS_KEY_VARIABLE "ZKFLOCK_TLS_KEY"

/* What was asked for; each file may be NULL. */
struct access_terms {
    char *auth_file;
    bool use_tls;
    struct tls_files tls;
};

struct access {
    struct credentials *credentials; /* NULL: none */
    struct tls *tls;                 /* NULL: connections are not encrypted */
};

/*
 * Reads the files.  Returns 0, or the exit status and *fault, a sentence to be freed.  To be called
 * in the process that connects: others shall not have the secrets in their memory.
 */
int access_open(struct access *access, const struct access_terms *terms, char **fault);

void access_close(struct access *access);

#endif
