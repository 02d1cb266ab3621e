/*
 * TLS for the connections to the servers.  ZooKeeper's client library of Debian has none, so it
 * connects to a relay in this process, which speaks TLS to the servers, see relay.h.
 *
 * Each server has to prove by its certificate that it has one of the names, or the address, by
 * which the user called it.  Nothing is sent before that, and nothing falls back to plain.
 */
#ifndef ZKFLOCK_TLS_H
#define ZKFLOCK_TLS_H

#include <stdbool.h>

#include "base/exitcode.h"
#include "ensemble/tls_library.h"

struct tls;

/* Room for what tls_why() writes. */
enum { TLS_WHY_SIZE = 240 };

/* The files, in PEM; each may be NULL. */
struct tls_files {
    char *cacert; /* whom to trust; NULL: whom the system trusts */
    char *cert;   /* the client's own certificate, and those between it and its CA */
    char *key;    /* its private key; NULL: it stands in cert */
};

/*
 * Reads the files.  The one with the key must be readable by its owner alone, who is the user or
 * root.  Returns a new object, or NULL with *status and *fault, a sentence to be freed.
 */
struct tls *tls_new(const struct tls_files *files, enum exitcode *status, char **fault);

/*
 * Begins a connection on a connected descriptor that does not block, to a server that has to prove
 * one of these: count host names, or addresses if there are no names.  NULL: no memory.
 */
SSL *tls_connection(const struct tls *tls, int fd, const char *const *names, size_t count);

/*
 * Says why SSL_connect(), SSL_read() or SSL_write() returned this, in words that follow the
 * server's name; NULL if the server has just ended the connection.  text is used if need be.
 * *error: 0, or ENOMEM if it is OpenSSL that could not go on, which mostly lacks memory then.
 */
const char *tls_why(SSL *ssl, int returned, char text[TLS_WHY_SIZE], int *error);

/*
 * Returns true if the server has proven by a certificate who it is; to be called when SSL_connect()
 * has succeeded, which it does without any certificate where the configuration of OpenSSL allows
 * anonymous ciphers (SSL_CTX_set_verify(3)).
 */
bool tls_is_proven(const SSL *ssl);

/* Returns true if the client has a certificate; NULL has none. */
bool tls_has_certificate(const struct tls *tls);

/* NULL is allowed. */
void tls_free(struct tls *tls);

#endif
