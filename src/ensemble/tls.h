/*
 * TLS for the connections to the servers.  Debian builds ZooKeeper's client library without TLS, so
 * the library connects to a relay in this process, which speaks TLS to the servers; see relay.h.
 *
 * Each server must prove by its certificate that it has one of the names, or the address, by which
 * the user called it.  Nothing is sent before that, and nothing falls back to plain TCP.
 */
#ifndef ZKFLOCK_TLS_H
#define ZKFLOCK_TLS_H

#include <stdbool.h>

#include "base/exitcode.h"
#include "ensemble/tls_library.h"
#include "ensemble/trouble.h"

struct tls;

/* Room for what tls_why() writes. */
enum { TLS_WHY_SIZE = 240 };

/* The files, in PEM; each may be NULL. */
struct tls_files {
    char *cacert; /* certificates to trust; NULL: those that the system trusts */
    char *cert;   /* the client's own certificate, and those between it and its CA */
    char *key;    /* its private key; NULL: it is in the file cert */
};

/*
 * Reads the files.  Refuses a file of the private key that somebody other than its owner may read
 * or write, or that belongs neither to the user nor to root.  Returns a new object; or NULL with
 * *status and *fault, a sentence that the caller frees.
 */
struct tls *tls_new(const struct tls_files *files, enum exitcode *status, char **fault);

/*
 * Begins TLS on a descriptor that is being connected and does not block.  The server must prove one
 * of these count names; addresses among them count only if there are no host names.  Returns NULL
 * if there is no memory.
 */
SSL *tls_connection(const struct tls *tls, int fd, const char *const *names, size_t count);

/*
 * Writes why SSL_connect(), SSL_read() or SSL_write() returned this: TROUBLE_FAULT, in words that
 * follow the server's name; TROUBLE_LOCAL, if OpenSSL itself could not go on, which mostly lacks
 * memory then; or TROUBLE_NONE without words, if the server has just ended the connection.
 */
enum trouble_kind tls_why(SSL *ssl, int returned, char text[TLS_WHY_SIZE]);

/*
 * Returns true if the server has proven by a certificate who it is; to be called when SSL_connect()
 * has succeeded, which it does without any certificate where the configuration of OpenSSL allows
 * anonymous ciphers (SSL_CTX_set_verify(3)).
 */
bool tls_is_proven(const SSL *ssl);

/* Returns true if the client has a certificate; NULL has none. */
bool tls_has_certificate(const struct tls *tls);

/* Frees it; NULL is allowed. */
void tls_free(struct tls *tls);

#endif
