/*
 * What a client needs to use a secured ensemble: credentials, and TLS.
 */
#ifndef ZKFLOCK_ACCESS_H
#define ZKFLOCK_ACCESS_H

#include <stdbool.h>

#include "base/exitcode.h"
#include "ensemble/credentials.h"
#include "ensemble/tls.h"

/* Variables of the environment, for the options of these names. */
#define ACCESS_TLS_VARIABLE "ZKFLOCK_TLS"
#define ACCESS_CACERT_VARIABLE "ZKFLOCK_TLS_CACERT"
#define ACCESS_CERT_VARIABLE "ZKFLOCK_TLS_CERT"
#define ACCESS_KEY_VARIABLE "ZKFLOCK_TLS_KEY"

/* The options; each file may be NULL. */
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
 * Reads the files.  Returns 0, or the exit status with *fault, a sentence that the caller frees.
 * Call it in the process that connects, so that no other process has the secrets in its memory.
 */
int access_open(struct access *access, const struct access_terms *terms, char **fault);

/* Overwrites the credentials and frees everything. */
void access_close(struct access *access);

#endif
