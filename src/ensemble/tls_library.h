/*
 * Loads OpenSSL at run time, so that a zkflock without TLS neither needs it nor pays for it.  Call
 * SSL_new(), for example, as library->SSL_new().
 */
#ifndef ZKFLOCK_TLS_LIBRARY_H
#define ZKFLOCK_TLS_LIBRARY_H

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#define TLS_FUNCTIONS(X)                                                                           \
    X(ERR_clear_error)                                                                             \
    X(ERR_peek_error)                                                                              \
    X(ERR_reason_error_string)                                                                     \
    X(SSL_CTX_check_private_key)                                                                   \
    X(SSL_CTX_ctrl)                                                                                \
    X(SSL_CTX_free)                                                                                \
    X(SSL_CTX_load_verify_file)                                                                    \
    X(SSL_CTX_new)                                                                                 \
    X(SSL_CTX_set_default_passwd_cb)                                                               \
    X(SSL_CTX_set_default_passwd_cb_userdata)                                                      \
    X(SSL_CTX_set_default_verify_paths)                                                            \
    X(SSL_CTX_set_options)                                                                         \
    X(SSL_CTX_set_verify)                                                                          \
    X(SSL_CTX_use_PrivateKey_file)                                                                 \
    X(SSL_CTX_use_certificate_chain_file)                                                          \
    X(SSL_connect)                                                                                 \
    X(SSL_ctrl)                                                                                    \
    X(SSL_free)                                                                                    \
    X(SSL_get0_param)                                                                              \
    X(SSL_get0_peer_certificate)                                                                   \
    X(SSL_get_certificate)                                                                         \
    X(SSL_get_error)                                                                               \
    X(SSL_get_servername)                                                                          \
    X(SSL_get_verify_result)                                                                       \
    X(SSL_new)                                                                                     \
    X(SSL_read)                                                                                    \
    X(SSL_set_fd)                                                                                  \
    X(SSL_write)                                                                                   \
    X(TLS_client_method)                                                                           \
    X(X509_VERIFY_PARAM_add1_host)                                                                 \
    X(X509_VERIFY_PARAM_set1_ip_asc)                                                               \
    X(X509_VERIFY_PARAM_set_flags)                                                                 \
    X(X509_VERIFY_PARAM_set_hostflags)                                                             \
    X(X509_verify_cert_error_string)

struct tls_library {
#define X(name) __typeof__(&name) name; /* NOLINT(bugprone-macro-parentheses) */
    TLS_FUNCTIONS(X)
#undef X
};

/*
 * Loads the library unless it is loaded.  Returns NULL if it is not installed, or lacks a function;
 * dlerror(3) then says why.
 */
const struct tls_library *tls_library_load(void);

#endif
