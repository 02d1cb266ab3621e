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

/* Returns the first reason that OpenSSL has noted, which is the most exact one. */
static const char *first_reason(const struct tls_library *library)
{
    unsigned long error = library->ERR_peek_error();
    const char *reason = library->ERR_reason_error_string(error);

    if (ERR_SYSTEM_ERROR(error))
        reason = strerror(ERR_GET_REASON(error));
    return reason ? reason : "unknown error";
}

/*
 * Returns why OpenSSL could not use a file: OpenSSL could not open it, for lack of descriptors or
 * of /proc; or the file has no what, such as a certificate in PEM.  The caller frees the sentence.
 */
static char *file_fault(const struct tls_library *library, const char *file, const char *what,
                        enum exitcode *status)
{
    unsigned long error = library->ERR_peek_error();

    if (!ERR_SYSTEM_ERROR(error))
        return xasprintf("%s: has no %s: %s", file, what, first_reason(library));
    *status = EXITCODE_OSERR;
    return xasprintf("%s: cannot be read by way of /proc/self/fd: %s", file,
                     strerror(ERR_GET_REASON(error)));
}

/* Returns a name by which OpenSSL can open the file of this descriptor. */
static char *name_of(int fd)
{
    return xasprintf("/proc/self/fd/%d", fd);
}

static char *take_authorities(const struct tls *tls, const char *file, enum exitcode *status)
{
    const struct tls_library *library = tls->library;
    char *fault = NULL;
    char *name;
    int fd;

    if (!file) {
        library->SSL_CTX_set_default_verify_paths(tls->context);
        library->ERR_clear_error();
        return NULL;
    }
    fd = private_file_open(file, NULL, status, &fault);
    if (fd < 0)
        return fault;
    name = name_of(fd);
    if (library->SSL_CTX_load_verify_file(tls->context, name) != 1)
        fault = file_fault(library, file, "certificates in PEM for --cacert", status);
    free(name);
    close(fd);
    return fault;
}

/* Refuses to give a pass phrase, and notes that OpenSSL has asked for one. */
static int refuse_pass_phrase(char *text, int size, int writing, void *asked)
{
    (void)text;
    (void)size;
    (void)writing;
    if (asked)
        *(bool *)asked = true;
    return -1;
}

static char *take_key(const struct tls *tls, const char *file, enum exitcode *status)
{
    const struct tls_library *library = tls->library;
    bool asked = false;
    char *fault;
    char *name;
    int fd = private_file_open(file, "private key", status, &fault);

    if (fd < 0)
        return fault;
    prctl(PR_SET_DUMPABLE, 0);
    library->SSL_CTX_set_default_passwd_cb(tls->context, refuse_pass_phrase);
    library->SSL_CTX_set_default_passwd_cb_userdata(tls->context, &asked);
    name = name_of(fd);
    if (library->SSL_CTX_use_PrivateKey_file(tls->context, name, SSL_FILETYPE_PEM) == 1)
        fault = NULL;
    else if (asked)
        fault = xasprintf("%s: the private key has a pass phrase, for which zkflock cannot ask; "
                          "remove it with openssl pkey",
                          file);
    else
        fault = file_fault(library, file, "private key in PEM", status);
    library->SSL_CTX_set_default_passwd_cb_userdata(tls->context, NULL);
    free(name);
    close(fd);
    return fault;
}

static char *take_certificate(const struct tls *tls, const char *file, enum exitcode *status)
{
    const struct tls_library *library = tls->library;
    char *fault;
    char *name;
    int fd = private_file_open(file, NULL, status, &fault);

    if (fd < 0)
        return fault;
    name = name_of(fd);
    fault = library->SSL_CTX_use_certificate_chain_file(tls->context, name) == 1
                ? NULL
                : file_fault(library, file, "certificate in PEM for --cert", status);
    free(name);
    close(fd);
    return fault;
}

/* Loads the client's certificate and key; if key is NULL, both are in cert. */
static char *take_own(const struct tls *tls, const char *cert, const char *key,
                      enum exitcode *status)
{
    char *fault = take_key(tls, key ? key : cert, status);

    if (fault && !key) {
        char *without =
            xasprintf("%s; or give --key, if the private key is in another file", fault);

        free(fault);
        return without;
    }
    if (!fault)
        fault = take_certificate(tls, cert, status);
    if (!fault && tls->library->SSL_CTX_check_private_key(tls->context) != 1)
        fault = xasprintf("%s: is not the private key of %s", key ? key : cert, cert);
    return fault;
}

/* Loads OpenSSL and makes a context.  Returns why that failed, or NULL. */
static char *begin(struct tls *tls)
{
    const struct tls_library *library = tls_library_load();

    if (!library)
        return xasprintf("--tls needs OpenSSL's library, which Debian calls libssl3: %s",
                         dlerror());
    tls->library = library;
    tls->context = library->SSL_CTX_new(library->TLS_client_method());
    if (!tls->context)
        return xasprintf("TLS cannot be started: %s", first_reason(library));
    library->SSL_CTX_ctrl(tls->context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
    library->SSL_CTX_ctrl(tls->context, SSL_CTRL_MODE,
                          SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER,
                          NULL);
    library->SSL_CTX_set_options(tls->context, SSL_OP_NO_RENEGOTIATION);
    library->SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
    return NULL;
}

static char *take_files(const struct tls *tls, const struct tls_files *files, enum exitcode *status)
{
    char *fault;

    *status = EXITCODE_CONFIG;
    fault = take_authorities(tls, files->cacert, status);

    if (!fault && files->cert)
        fault = take_own(tls, files->cert, files->key, status);
    return fault;
}

struct tls *tls_new(const struct tls_files *files, enum exitcode *status, char **fault)
{
    struct tls *tls = xcalloc(1, sizeof(*tls));

    *status = EXITCODE_OSERR;
    *fault = begin(tls);
    if (!*fault) {
        tls->library->ERR_clear_error(); /* left there when OpenSSL read its configuration */
        *fault = take_files(tls, files, status);
    }
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

/* Returns the length of a name without a final dot, which DNS allows and certificates do not have.
 */
static size_t length_in_certificate(const char *name)
{
    size_t len = strlen(name);

    return len > 1 && name[len - 1] == '.' ? len - 1 : len;
}

/* Sets the names of which the server must prove one; addresses count only without host names. */
static bool expect_names(const struct tls_library *library, SSL *ssl, const char *const *names,
                         size_t count)
{
    X509_VERIFY_PARAM *param = library->SSL_get0_param(ssl);
    const char *name = NULL;
    char *sent;
    bool done;

    /* Trust the certificates of --cacert even if they are not the root of the chain. */
    library->X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN);
    library->X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                                        X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    for (size_t i = 0; i < count; i++) {
        if (is_address(names[i]))
            continue;
        name = names[i];
        if (library->X509_VERIFY_PARAM_add1_host(param, name, length_in_certificate(name)) != 1)
            return false;
    }
    if (!name)
        return library->X509_VERIFY_PARAM_set1_ip_asc(param, names[0]) == 1;
    sent = xstrndup(name, length_in_certificate(name));
    done =
        library->SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, sent) == 1;
    free(sent);
    return done;
}

SSL *tls_connection(const struct tls *tls, int fd, const char *const *names, size_t count)
{
    const struct tls_library *library = tls->library;
    SSL *ssl = library->SSL_new(tls->context);

    if (ssl && library->SSL_set_fd(ssl, fd) == 1 && expect_names(library, ssl, names, count))
        return ssl;
    if (ssl)
        library->SSL_free(ssl);
    return NULL;
}

bool tls_is_proven(const SSL *ssl)
{
    const struct tls_library *library = tls_library_load();

    return library->SSL_get0_peer_certificate(ssl) &&
           library->SSL_get_verify_result(ssl) == X509_V_OK;
}

/* Returns true if the alert of the server is about the client's certificate, or the lack of one. */
static bool is_about_certificate(int reason)
{
    int alert = reason - SSL_AD_REASON_OFFSET;

    return alert == SSL_AD_HANDSHAKE_FAILURE || alert == SSL_AD_UNKNOWN_CA ||
           alert == SSL_AD_ACCESS_DENIED || alert == SSL_AD_CERTIFICATE_REQUIRED ||
           (alert >= SSL_AD_BAD_CERTIFICATE && alert <= SSL_AD_CERTIFICATE_UNKNOWN);
}

/* Writes why the connection has failed, for this reason of OpenSSL's. */
static void say_reason(const SSL *ssl, unsigned long error, char text[TLS_WHY_SIZE])
{
    const struct tls_library *library = tls_library_load();
    int reason = ERR_GET_REASON(error);
    const char *words = NULL;
    bool proven = tls_is_proven(ssl);
    const char *what = proven ? "failed in TLS" : "failed in the TLS handshake";

    switch (proven ? 0 : reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_UNEXPECTED_MESSAGE:
        what = "does not speak TLS at this port; is it its secureClientPort?";
        break;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
        what = "has no TLS 1.2 or later";
        break;
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
        what = "has no cipher in common";
        break;
    default:
        words = library->ERR_reason_error_string(error);
        if (!is_about_certificate(reason))
            break;
        if (library->SSL_get_certificate(ssl)) {
            what = "does not accept the certificate of --cert";
        } else {
            what = "wants a client certificate; give --cert and --key";
            words = NULL;
        }
    }
    snprintf(text, TLS_WHY_SIZE, "%s%s%s", what, words ? ": " : "", words ? words : "");
}

/* Writes why the certificate is not accepted, and for which name, if that is the reason. */
static void say_certificate(SSL *ssl, long verified, char text[TLS_WHY_SIZE])
{
    const struct tls_library *library = tls_library_load();
    const char *name = verified == X509_V_ERR_HOSTNAME_MISMATCH
                           ? library->SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name)
                           : NULL;

    snprintf(text, TLS_WHY_SIZE, "has a certificate that is not accepted: %s%s%.80s",
             library->X509_verify_cert_error_string(verified), name ? ", it is not for " : "",
             name ? name : "");
}

enum trouble_kind tls_why(SSL *ssl, int returned, char text[TLS_WHY_SIZE])
{
    const struct tls_library *library = tls_library_load();
    long verified = library->SSL_get_verify_result(ssl);
    /* Others may follow: of the record layer, and of an alert that could not be sent. */
    unsigned long first = library->ERR_peek_error();

    if (library->SSL_get_error(ssl, returned) != SSL_ERROR_SSL)
        return TROUBLE_NONE;
    /* A failed allocation is seldom called that: "internal error", "init fail". */
    if (ERR_FATAL_ERROR(first)) {
        snprintf(text, TLS_WHY_SIZE, "OpenSSL cannot go on, perhaps for want of memory: %s",
                 first_reason(library));
        return TROUBLE_LOCAL;
    }
    /* A server that is killed or full closes the connection without ending TLS. */
    if (ERR_GET_REASON(first) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        return TROUBLE_NONE;
    if (verified == X509_V_OK)
        say_reason(ssl, first, text);
    else
        say_certificate(ssl, verified, text);
    return TROUBLE_FAULT;
}

bool tls_has_certificate(const struct tls *tls)
{
    return tls && tls->has_certificate;
}

void tls_free(struct tls *tls)
{
    if (!tls)
        return;
    if (tls->library && tls->context)
        tls->library->SSL_CTX_free(tls->context);
    free(tls);
}
