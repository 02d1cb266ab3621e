#include "ensemble/tls.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "ensemble/private_file.h"

struct tls {
    const struct tls_library *library;
    SSL_CTX *context;
    bool has_certificate;
};

static const char *last_reason(const struct tls_library *library)
{
    const char *reason = library->ERR_reason_error_string(library->ERR_peek_last_error());

    return reason ? reason : "unknown error";
}

/* Why a file cannot be used: what the kernel says, or OpenSSL. */
static const char *why_not(const struct tls_library *library, const char *file)
{
    return access(file, R_OK) < 0 ? strerror(errno) : last_reason(library);
}

static char *take_authorities(const struct tls *tls, const char *file)
{
    const struct tls_library *library = tls->library;

    if (!file) {
        library->SSL_CTX_set_default_verify_paths(tls->context);
        return NULL;
    }
    if (library->SSL_CTX_load_verify_file(tls->context, file) == 1)
        return NULL;
    return xasprintf("--cacert: no certificates in PEM can be read from %s: %s", file,
                     why_not(library, file));
}

static char *take_own(const struct tls *tls, const char *cert, const char *key)
{
    const struct tls_library *library = tls->library;
    char *fault = private_file_fault(key, "private key");

    if (fault)
        return fault;
    prctl(PR_SET_DUMPABLE, 0);
    if (library->SSL_CTX_use_PrivateKey_file(tls->context, key, SSL_FILETYPE_PEM) != 1)
        return xasprintf("--key: no private key in PEM, without a pass phrase, can be read from "
                         "%s: %s",
                         key, last_reason(library));
    if (library->SSL_CTX_use_certificate_chain_file(tls->context, cert) != 1)
        return xasprintf("--cert: no certificate in PEM can be read from %s: %s", cert,
                         why_not(library, cert));
    if (library->SSL_CTX_check_private_key(tls->context) != 1)
        return xasprintf("--key: %s is not the key of %s", key, cert);
    return NULL;
}

struct tls *tls_new(const struct tls_files *files, enum exitcode *status, char **fault)
{
    struct tls *tls = xcalloc(1, sizeof(*tls));

    *fault = NULL;
    *status = EXITCODE_OSERR;
    tls->library = tls_library_load();
    if (tls->library)
        tls->context = tls->library->SSL_CTX_new(tls->library->TLS_client_method());
    if (!tls->library)
        *fault =
            xasprintf("--tls needs OpenSSL's library, which Debian calls libssl3: %s", dlerror());
    else if (!tls->context)
        *fault = xasprintf("TLS cannot be started: %s", last_reason(tls->library));
    if (!*fault) {
        *status = EXITCODE_CONFIG;
        tls->library->SSL_CTX_ctrl(tls->context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION,
                                   NULL);
        tls->library->SSL_CTX_ctrl(
            tls->context, SSL_CTRL_MODE,
            SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER, NULL);
        tls->library->SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
        *fault = take_authorities(tls, files->cacert);
    }
    if (!*fault && files->cert)
        *fault = take_own(tls, files->cert, files->key ? files->key : files->cert);
    tls->has_certificate = files->cert;
    if (!*fault)
        return tls;
    tls_free(tls);
    return NULL;
}

static bool is_address(const char *name)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
}

SSL *tls_connection(const struct tls *tls, int fd, const char *const *names, size_t count)
{
    const struct tls_library *library = tls->library;
    SSL *ssl = library->SSL_new(tls->context);
    X509_VERIFY_PARAM *param = ssl ? library->SSL_get0_param(ssl) : NULL;
    bool done = param && library->SSL_set_fd(ssl, fd) == 1;

    if (param)
        library->X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    for (size_t i = 0; i < count && done; i++) {
        if (is_address(names[i])) {
            done = library->X509_VERIFY_PARAM_set1_ip_asc(param, names[i]) == 1;
            continue;
        }
        done = library->X509_VERIFY_PARAM_add1_host(param, names[i], 0) == 1;
        if (i == 0)
            library->SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                              (void *)names[i]);
    }
    if (done)
        return ssl;
    if (ssl)
        library->SSL_free(ssl);
    return NULL;
}

/* Whether the server has sent an alert that a certificate, or its absence, is the reason for. */
static bool is_about_certificate(int reason)
{
    int alert = reason - SSL_AD_REASON_OFFSET;

    return alert == SSL_AD_HANDSHAKE_FAILURE || alert == SSL_AD_UNKNOWN_CA ||
           alert == SSL_AD_ACCESS_DENIED || alert == SSL_AD_CERTIFICATE_REQUIRED ||
           (alert >= SSL_AD_BAD_CERTIFICATE && alert <= SSL_AD_CERTIFICATE_UNKNOWN);
}

static const char *of_reason(SSL *ssl, unsigned long error, char text[160])
{
    const struct tls_library *library = tls_library_load();
    int reason = ERR_GET_REASON(error);
    const char *words = library->ERR_reason_error_string(error);

    switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_UNEXPECTED_MESSAGE:
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
        return "does not speak TLS there; is that its secureClientPort?";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
        return "has no TLS 1.2 or later";
    }
    if (is_about_certificate(reason) && !library->SSL_get_certificate(ssl))
        return "wants a client certificate; give --cert and --key";
    snprintf(text, 160, "%s: %s",
             is_about_certificate(reason) ? "does not accept the certificate of --cert"
                                          : "speaks no TLS that is understood",
             words ? words : "unknown error");
    return text;
}

const char *tls_why(SSL *ssl, int returned, bool shaken, char text[160])
{
    const struct tls_library *library = tls_library_load();
    long verified = library->SSL_get_verify_result(ssl);
    int kind = library->SSL_get_error(ssl, returned);

    if (kind != SSL_ERROR_SSL)
        return NULL;
    /* A server that is killed does not end TLS before the connection. */
    if (shaken &&
        ERR_GET_REASON(library->ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        return NULL;
    if (verified == X509_V_OK)
        return of_reason(ssl, library->ERR_peek_last_error(), text);
    snprintf(text, 160, "has a certificate that is not accepted: %s",
             library->X509_verify_cert_error_string(verified));
    return text;
}

bool tls_has_certificate(const struct tls *tls)
{
    return tls && tls->has_certificate;
}

void tls_free(struct tls *tls)
{
    if (!tls)
        return;
    if (tls->context)
        tls->library->SSL_CTX_free(tls->context);
    free(tls);
}
