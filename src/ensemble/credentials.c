#include "ensemble/credentials.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "ensemble/private_file.h"

/* The size at which a file is too long, in bytes. */
#define LONGEST ((size_t)64 * 1024)

#define DIGEST "digest:"

/* The content of the file, with a NUL instead of each line end and one behind the last line. */
struct credentials {
    char *text;
    size_t len;
};

static char *cannot(const char *path, int error)
{
    return xasprintf("%s: cannot be read: %s", path, strerror(error));
}

/* Reads the file, up to LONGEST.  Returns 0, or an errno. */
static int read_all(struct credentials *credentials, int fd)
{
    while (credentials->len < LONGEST) {
        ssize_t len = read(fd, credentials->text + credentials->len, LONGEST - credentials->len);

        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0)
            return errno;
        if (len == 0)
            break;
        credentials->len += (size_t)len;
    }
    return 0;
}

/* Returns true for a blank line or a comment. */
static bool is_empty(const char *line)
{
    return line[strspn(line, " \t")] == '\0' || line[0] == '#';
}

/* Returns true for a whole digest:USER:PASSWORD. */
static bool is_credential(const char *line)
{
    const char *user = line + strlen(DIGEST);
    const char *colon;

    if (strncmp(line, DIGEST, strlen(DIGEST)) != 0)
        return false;
    colon = strchr(user, ':');
    return colon && colon > user && colon[1] != '\0';
}

/*
 * Ends each line with a NUL, and sets *any if there is a credential.  Returns the number of the
 * first line that does not parse, or 0.
 */
static unsigned int split(struct credentials *credentials, bool *any)
{
    unsigned int number = 0;

    for (char *line = credentials->text; line < credentials->text + credentials->len;) {
        size_t left = (size_t)(credentials->text + credentials->len - line);
        char *newline = memchr(line, '\n', left);
        char *end = newline ? newline : line + left;
        size_t len = (size_t)(end - line);

        number++;
        *end = '\0';
        if (len > 0 && line[len - 1] == '\r')
            line[--len] = '\0';
        if (strlen(line) < len)
            return number; /* it has a NUL in it */
        if (!is_empty(line) && !is_credential(line))
            return number;
        *any |= !is_empty(line);
        line = end + 1;
    }
    return 0;
}

static char *parse(struct credentials *credentials, const char *path)
{
    bool any = false;
    unsigned int wrong = split(credentials, &any);

    if (wrong)
        return xasprintf("%s:%u: is not digest:USER:PASSWORD; SASL (Kerberos) is not supported, "
                         "and a certificate goes to --cert",
                         path, wrong);
    return any ? NULL : xasprintf("%s: has no line digest:USER:PASSWORD", path);
}

struct credentials *credentials_read(const char *path, enum exitcode *status, char **fault)
{
    struct credentials *credentials;
    int fd = private_file_open(path, "passwords", status, fault);
    int error;

    if (fd < 0)
        return NULL;
    credentials = xcalloc(1, sizeof(*credentials));
    credentials->text =
        mmap(NULL, LONGEST + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (credentials->text == MAP_FAILED) {
        credentials->text = NULL;
        error = errno;
    } else {
        madvise(credentials->text, LONGEST + 1, MADV_DONTDUMP);
        madvise(credentials->text, LONGEST + 1, MADV_WIPEONFORK);
        prctl(PR_SET_DUMPABLE, 0);
        error = read_all(credentials, fd);
    }
    close(fd);
    *status = private_file_status(error);
    if (error)
        *fault = cannot(path, error);
    else if (credentials->len == LONGEST)
        *fault = xasprintf("%s: is longer than 64 KiB", path);
    else
        *fault = parse(credentials, path);
    if (!*fault)
        return credentials;
    credentials_free(credentials);
    return NULL;
}

bool credentials_add(const struct credentials *credentials, zhandle_t *handle)
{
    const char *line = credentials ? credentials->text : NULL;
    bool taken = true;

    for (; line && line < credentials->text + credentials->len; line += strlen(line) + 1) {
        const char *user = line + strlen(DIGEST);

        if (is_credential(line))
            taken &= zoo_add_auth(handle, "digest", user, (int)strlen(user), NULL, NULL) == ZOK;
    }
    return taken;
}

void credentials_free(struct credentials *credentials)
{
    if (!credentials)
        return;
    if (credentials->text) {
        explicit_bzero(credentials->text, LONGEST + 1);
        munmap(credentials->text, LONGEST + 1);
    }
    free(credentials);
}
