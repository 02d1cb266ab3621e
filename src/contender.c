#include "contender.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xalloc.h"

static const char version[] = "zkflock/1 ";

static const char *const states[][2] = {
    [CONTENDER_WAITING] = {"waiting exclusive", "waiting shared"},
    [CONTENDER_HELD] = {"held exclusive", "held shared"},
};

static const char revoked[] = "zkflock/1 revoked ";
static const char revoked_by[] = "revoked by ";

/* What a zkflock writes is shorter. */
enum { KEPT_MAX = 4096 };

static char self[CONTENDER_WHO_SIZE];

/* Bytes that are no printable ASCII become question marks. */
static void copy_printable(char *to, size_t size, const char *from, size_t len)
{
    size_t i;

    for (i = 0; i < len && i < size - 1; i++)
        to[i] = (char)(from[i] >= ' ' && from[i] <= '~' ? from[i] : '?');
    to[i] = '\0';
}

/* The user as the environment has it: to look one up may take a server's time. */
static const char *user_name(char number[16])
{
    const char *name = getenv("LOGNAME");

    if (!name || !*name)
        name = getenv("USER");
    snprintf(number, 16, "%u", (unsigned int)geteuid());
    return name && *name ? name : number;
}

void contender_introduce(char *const *argv)
{
    char who[CONTENDER_WHO_SIZE];
    char host[65] = "?";
    char number[16];
    size_t len;

    gethostname(host, sizeof(host) - 1);
    len = (size_t)snprintf(who, sizeof(who), "%.64s@%s pid %d:", user_name(number), host,
                           (int)getpid());
    for (; *argv && len < sizeof(who); argv++)
        len += (size_t)snprintf(who + len, sizeof(who) - len, " %s", *argv);
    copy_printable(self, sizeof(self), who, strlen(who));
}

char *contender_encode(enum contender_state state, bool shared)
{
    return xasprintf("%s%s\n%s\n", version, states[state][shared], self);
}

bool contender_holds_exclusively(const char *data, size_t len)
{
    static const char held[] = "zkflock/1 held exclusive\n";

    return len >= sizeof(held) - 1 && memcmp(data, held, sizeof(held) - 1) == 0;
}

const char *contender_who(const char *data, size_t len, char who[CONTENDER_WHO_SIZE])
{
    const char *line;
    const char *end;

    who[0] = '\0';
    if (len < sizeof(version) - 1 || memcmp(data, version, sizeof(version) - 1) != 0)
        return who;
    line = memchr(data, '\n', len);
    if (!line)
        return who;
    line++;
    len -= (size_t)(line - data);
    end = memchr(line, '\n', len);
    copy_printable(who, CONTENDER_WHO_SIZE, line, end ? (size_t)(end - line) : len);
    return who;
}

static bool starts_with(const char *data, size_t len, const char *text)
{
    return len >= strlen(text) && memcmp(data, text, strlen(text)) == 0;
}

/* Where the line that says who asks begins; the end of data if there is none. */
static size_t find_revoked_by(const char *data, size_t len)
{
    size_t at = len;

    for (size_t i = 1; i < len; i++)
        if (data[i - 1] == '\n' && starts_with(data + i, len - i, revoked_by))
            at = i;
    return at;
}

char *contender_encode_revoked(const char *data, size_t len)
{
    const char *line = memchr(data, '\n', len);
    bool shared;
    size_t rest;

    if (len > KEPT_MAX || !starts_with(data, len, version) || !line)
        return xstrdup(CONTENDER_REVOKE);
    rest = (size_t)(line - data) + 1;
    shared = rest > 7 && memcmp(line - 6, "shared", 6) == 0;
    /* A last line that nobody has ended does not run into the next one. */
    len = find_revoked_by(data, len);
    return xasprintf("%s%s\n%.*s%s%s%s\n", revoked, shared ? "shared" : "exclusive",
                     (int)(len - rest), data + rest, data[len - 1] == '\n' ? "" : "\n", revoked_by,
                     self);
}

bool contender_is_revoked(const char *data, size_t len, char who[CONTENDER_WHO_SIZE])
{
    size_t at;

    who[0] = '\0';
    if (len == strlen(CONTENDER_REVOKE) && starts_with(data, len, CONTENDER_REVOKE))
        return true;
    if (!starts_with(data, len, revoked))
        return false;
    at = find_revoked_by(data, len);
    if (at < len) {
        const char *line = data + at + strlen(revoked_by);
        const char *end = memchr(line, '\n', len - (size_t)(line - data));

        copy_printable(who, CONTENDER_WHO_SIZE, line, (size_t)((end ? end : data + len) - line));
    }
    return true;
}
