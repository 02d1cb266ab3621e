/*
 * Keys and certificates, made in memory, for a target that is a server of TLS.  A signature by
 * Ed25519 always has the same length: so an input does the same each time.
 */
#ifndef FUZZ_AUTHORITY_H
#define FUZZ_AUTHORITY_H

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "fuzz.h"

enum { DAY_S = 24 * 60 * 60 };

struct identity {
    X509 *certificate;
    EVP_PKEY *key;
};

static void add_extension(X509 *certificate, int nid, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

    MUST(extension && X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

/* issuer: NULL: it signs itself, as an authority.  names: as openssl.cnf(5) has them, or NULL. */
static struct identity make_identity(const struct identity *issuer, const char *cn,
                                     const char *names, long days)
{
    struct identity made = {X509_new(), EVP_PKEY_Q_keygen(NULL, NULL, "ED25519")};
    const struct identity *by = issuer ? issuer : &made;
    X509_NAME *subject = X509_get_subject_name(made.certificate);
    static long serial;

    X509_set_version(made.certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made.certificate), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(made.certificate), -2L * DAY_S);
    X509_gmtime_adj(X509_getm_notAfter(made.certificate), days * DAY_S);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)cn, -1, -1, 0);
    X509_set_issuer_name(made.certificate, X509_get_subject_name(by->certificate));
    X509_set_pubkey(made.certificate, made.key);
    if (!issuer)
        add_extension(made.certificate, NID_basic_constraints, "critical,CA:TRUE");
    if (names)
        add_extension(made.certificate, NID_subject_alt_name, names);
    MUST(X509_sign(made.certificate, by->key, NULL) > 0);
    return made;
}

static void free_identity(struct identity *identity)
{
    X509_free(identity->certificate);
    EVP_PKEY_free(identity->key);
}

/*
 * Writes the certificate, and the key if it is to, into a file that lasts as long as the process.
 * Returns its name, to be freed.
 */
static char *write_identity(const struct identity *identity, bool with_key)
{
    int fd = memfd_create("identity", MFD_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(dup(fd), "w");
    char name[32];

    MUST(file && fchmod(fd, S_IRUSR | S_IWUSR) == 0);
    PEM_write_X509(file, identity->certificate);
    if (with_key)
        PEM_write_PrivateKey(file, identity->key, NULL, NULL, 0, NULL, NULL);
    MUST(fclose(file) == 0);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    return fuzz_text(name, strlen(name));
}

#endif
