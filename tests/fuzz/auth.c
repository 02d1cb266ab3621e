/*
 * The auth file.  It is taken if each line is a credential, a comment or blank, and one is a
 * credential; then the client library gets each of them, in order and whole, and nothing else.
 * Otherwise the fault has the file's name in it and no byte of a password.
 */
#include "ensemble/credentials.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "fuzz.h"

enum { CREDENTIALS_MAX = 64, LONGEST = 64 * 1024 };

/* What zoo_add_auth() got. */
static char *got[CREDENTIALS_MAX];
static size_t got_len;

/* In the place of the library's. */
int __wrap_zoo_add_auth(zhandle_t *zh, const char *scheme, const char *cert, int certLen,
                        void_completion_t completion, const void *data);
int __wrap_zoo_add_auth(zhandle_t *zh, const char *scheme, const char *cert, int certLen,
                        void_completion_t completion, const void *data)
{
    (void)zh;
    (void)completion;
    (void)data;
    MUST(strcmp(scheme, "digest") == 0 && strlen(cert) == (size_t)certLen);
    if (got_len < CREDENTIALS_MAX)
        got[got_len++] = fuzz_text(cert, (size_t)certLen);
    return ZOK;
}

/* In the place of the kernel's: the leak check of a process that cannot be dumped fails. */
int prctl(int option, ...);
int prctl(int option, ...)
{
    (void)option;
    return 0;
}

static int make_file(const void *bytes, size_t len)
{
    int fd = memfd_create("auth", MFD_CLOEXEC);

    if (fd < 0 || write(fd, bytes, len) != (ssize_t)len || fchmod(fd, 0600) < 0)
        abort();
    return fd;
}

/* Takes one line off the bytes; says the same as the program, written another way. */
static bool expect_line(const char *line, size_t len, const char **user)
{
    const char *colon;
    size_t blanks = 0;

    *user = NULL;
    if (len > 0 && line[len - 1] == '\r')
        len--;
    while (blanks < len && (line[blanks] == ' ' || line[blanks] == '\t'))
        blanks++;
    if (memchr(line, 0, len))
        return false;
    if (blanks == len || line[0] == '#')
        return true;
    if (len < 7 || memcmp(line, "digest:", 7) != 0)
        return false;
    colon = memchr(line + 7, ':', len - 7);
    if (!colon || colon == line + 7 || colon == line + len - 1)
        return false;
    *user = strndup(line + 7, len - 7);
    return true;
}

/* Compares what the library got with what stands in the file. */
static void check(const char *bytes, size_t len, bool taken)
{
    size_t at = 0;
    size_t count = 0;
    bool good = len <= LONGEST;

    while (good && at < len) {
        const char *end = memchr(bytes + at, '\n', len - at);
        size_t line_len = end ? (size_t)(end - bytes) - at : len - at;
        const char *user;

        good = expect_line(bytes + at, line_len, &user);
        if (user && taken && count < CREDENTIALS_MAX)
            MUST(count < got_len && strcmp(got[count], user) == 0);
        count += user != NULL;
        free((char *)user);
        at += line_len + 1;
    }
    MUST(taken == (good && count > 0));
    MUST(!taken || got_len == (count < CREDENTIALS_MAX ? count : CREDENTIALS_MAX));
}

/* Returns true if the fault is one of the few sentences behind the file's name. */
static bool is_harmless(const char *fault, const char *path)
{
    const char *rest = fault + strlen(path);

    if (strncmp(fault, path, strlen(path)) != 0)
        return false;
    rest += strspn(rest, ":0123456789");
    return strncmp(rest, " is not digest:USER:PASSWORD; SASL", 34) == 0 ||
           strcmp(rest, " has no line digest:USER:PASSWORD") == 0 ||
           strcmp(rest, " is longer than 64 KiB") == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    int fd = make_file(bytes, size);
    char *data = fuzz_copy(bytes, size);
    char path[40];
    char *fault = NULL;
    enum exitcode status = EXITCODE_OSERR;
    struct credentials *credentials;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    credentials = credentials_read(path, &status, &fault);
    MUST((credentials == NULL) == (fault != NULL));
    MUST(!fault || (is_harmless(fault, path) && status == EXITCODE_CONFIG));
    MUST(credentials_add(credentials, NULL));
    check(data, size, credentials != NULL);
    while (got_len > 0)
        free(got[--got_len]);
    credentials_free(credentials);
    free(fault);
    free(data);
    close(fd);
    return 0;
}
