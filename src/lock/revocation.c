#include "lock/revocation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/xalloc.h"

#define CURATORS "__REVOKE__"

static const char ours[] = "zkflock/1 ";
static const char revoked[] = "zkflock/1 revoked ";
static const char revoked_by[] = "revoked by ";
static const char held[] = " held_ms=";

/* What a zkflock writes is shorter. */
enum { KEPT_MAX = 4096 };

/* Where the line that says who asks begins; the end of data if there is none. */
static size_t find_revoked_by(const char *data, size_t len)
{
    size_t at = len;

    for (size_t i = 1; i < len; i++)
        if (data[i - 1] == '\n' && contender_begins(data + i, len - i, revoked_by))
            at = i;
    return at;
}

char *revocation_encode(const char *data, size_t len, int64_t held_ms)
{
    const char *end = memchr(data, '\n', len);
    char since[40] = "";
    bool shared;
    size_t first_len;

    if (len > KEPT_MAX || !contender_begins(data, len, ours) || !end)
        return xstrdup(CURATORS);
    first_len = (size_t)(end - data) + 1;
    shared = memmem(data, first_len, " shared", 7) != NULL;
    len = find_revoked_by(data, len); /* of several the last one counts */
    len -= data[len - 1] == '\n' && len > first_len;
    if (!memmem(data, len, held, strlen(held)))
        snprintf(since, sizeof(since), "%s%" PRId64, held, held_ms);
    return xasprintf("%s%s\n%.*s%s\n%s%s\n", revoked, shared ? "shared" : "exclusive",
                     (int)(len - first_len), data + first_len, since, revoked_by, contender_self());
}

bool revocation_decode(const char *data, size_t len, char who[CONTENDER_WHO_SIZE])
{
    size_t at;

    who[0] = '\0';
    if (len == strlen(CURATORS) && contender_begins(data, len, CURATORS))
        return true;
    if (!contender_begins(data, len, revoked))
        return false;
    at = find_revoked_by(data, len);
    if (at < len) {
        const char *line = data + at + strlen(revoked_by);
        const char *end = memchr(line, '\n', len - (size_t)(line - data));

        contender_copy_printable(who, CONTENDER_WHO_SIZE, line,
                                 (size_t)((end ? end : data + len) - line));
    }
    return true;
}
