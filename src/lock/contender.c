#include "lock/contender.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/xalloc.h"

#ifndef ZKFLOCK_VERSION
#define ZKFLOCK_VERSION "unknown"
#endif

static const char version[] = "zkflock/1 ";

static const char *const states[][2] = {
    [CONTENDER_WAITING] = {"waiting exclusive", "waiting shared"},
    [CONTENDER_HELD] = {"held exclusive", "held shared"},
};

static const char *const kinds[] = {
    [CONTENDER_EXCLUSIVE] = "exclusive",
    [CONTENDER_SHARED] = "shared",
    [CONTENDER_UNFAIR] = "unfair",
    [CONTENDER_PERMIT] = "permit",
};

static char self[CONTENDER_WHO_SIZE];

void contender_copy_printable(char *to, size_t size, const char *from, size_t len)
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
    if (name && *name)
        return name;
    if (geteuid() == 0)
        return "root";
    snprintf(number, 16, "%u", (unsigned int)geteuid());
    return number;
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
    contender_copy_printable(self, sizeof(self), who, strlen(who));
}

const char *contender_self(void)
{
    return self;
}

char *contender_encode(enum contender_state state, const struct contender_terms *terms)
{
    char since[sizeof(((struct contender *)NULL)->since)] = "?";
    char permits[32] = "";
    char settling[48] = "";
    time_t now = time(NULL);
    struct tm utc;

    if (gmtime_r(&now, &utc))
        strftime(since, sizeof(since), "%Y-%m-%dT%H:%M:%SZ", &utc);
    if (terms->permits)
        snprintf(permits, sizeof(permits), " permits=%" PRId32, terms->permits);
    if (terms->settling_ms)
        snprintf(settling, sizeof(settling), " settling=%" PRId64 "ms", terms->settling_ms);
    return xasprintf(
        "%s%s\n%s\nsince=%s kind=%s%s lease=%" PRId64 "ms%s%s version=" ZKFLOCK_VERSION "\n",
        version, states[state][terms->kind == CONTENDER_SHARED], self, since, kinds[terms->kind],
        permits, terms->lease_ms, settling, terms->no_delay ? " delay=0" : "");
}

bool contender_begins(const char *data, size_t len, const char *text)
{
    return len >= strlen(text) && memcmp(data, text, strlen(text)) == 0;
}

bool contender_holds_exclusively(const char *data, size_t len)
{
    return contender_begins(data, len, "zkflock/1 held exclusive\n");
}

/* ---- what others wrote ---- */

/* The line with this number, from 0, without its end; NULL: there is none. */
static const char *find_line(const char *data, size_t len, int number, size_t *line_len)
{
    const char *end;

    while (number-- > 0) {
        const char *next = memchr(data, '\n', len);

        if (!next)
            return NULL;
        next++;
        len -= (size_t)(next - data);
        data = next;
    }
    end = memchr(data, '\n', len);
    *line_len = end ? (size_t)(end - data) : len;
    return data;
}

const char *contender_who(const char *data, size_t len, char who[CONTENDER_WHO_SIZE])
{
    const char *line;
    size_t line_len;

    who[0] = '\0';
    if (!contender_begins(data, len, version))
        return who;
    line = find_line(data, len, 1, &line_len);
    if (line)
        contender_copy_printable(who, CONTENDER_WHO_SIZE, line, line_len);
    return who;
}

/* Reads a number of up to 18 digits at the beginning of text; returns what stands behind. */
static const char *take_number(const char *text, int64_t *number)
{
    int64_t value = 0;
    int digits = 0;

    for (; text[digits] >= '0' && text[digits] <= '9' && digits < 18; digits++)
        value = value * 10 + (text[digits] - '0');
    *number = value;
    return digits ? text + digits : NULL;
}

/* USER@HOST pid N: COMMAND */
static void take_who(const char *who, struct contender *contender)
{
    static const char mark[] = " pid ";

    for (const char *pid = strstr(who, mark); pid; pid = strstr(pid + 1, mark)) {
        const char *at = memrchr(who, '@', (size_t)(pid - who));
        int64_t number;
        const char *rest = take_number(pid + sizeof(mark) - 1, &number);

        if (!at || !rest || *rest != ':')
            continue;
        contender->pid = number;
        contender_copy_printable(contender->user, sizeof(contender->user), who, (size_t)(at - who));
        contender_copy_printable(contender->host, sizeof(contender->host), at + 1,
                                 (size_t)(pid - at - 1));
        rest += rest[1] == ' ' ? 2 : 1;
        contender_copy_printable(contender->command, sizeof(contender->command), rest,
                                 strlen(rest));
        return;
    }
}

static int64_t milliseconds(const char *value)
{
    int64_t number = 0;
    const char *rest = take_number(value, &number);

    return rest && strcmp(rest, "ms") == 0 ? number : 0;
}

static void take_pair(const char *key, const char *value, struct contender *contender)
{
    struct contender_terms *terms = &contender->terms;
    int64_t number = 0;

    if (strcmp(key, "since") == 0) {
        contender_copy_printable(contender->since, sizeof(contender->since), value, strlen(value));
    } else if (strcmp(key, "version") == 0) {
        contender_copy_printable(contender->version, sizeof(contender->version), value,
                                 strlen(value));
    } else if (strcmp(key, "lease") == 0) {
        terms->lease_ms = milliseconds(value);
    } else if (strcmp(key, "delay") == 0) {
        terms->no_delay = strcmp(value, "0") == 0;
    } else if (strcmp(key, "settling") == 0) {
        terms->settling_ms = milliseconds(value);
    } else if (strcmp(key, "held_ms") == 0) {
        take_number(value, &contender->held_ms);
    } else if (strcmp(key, "permits") == 0) {
        take_number(value, &number);
        terms->permits = number > 0 && number <= INT32_MAX ? (int32_t)number : 0;
    } else if (strcmp(key, "kind") == 0) {
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
            if (strcmp(value, kinds[i]) == 0)
                terms->kind = (enum contender_kind)i;
    }
}

static void take_pairs(const char *line, size_t len, struct contender *contender)
{
    char text[256];
    char *rest = text;
    char *pair;

    contender_copy_printable(text, sizeof(text), line, len);
    while ((pair = strsep(&rest, " "))) {
        char *value = strchr(pair, '=');

        if (!value)
            continue;
        *value++ = '\0';
        take_pair(pair, value, contender);
    }
}

/* Takes data that is an address and nothing else. */
static void take_address(const char *data, size_t len, struct contender *contender)
{
    char text[sizeof(contender->address)];
    unsigned char scratch[sizeof(struct in6_addr)];

    if (len == 0 || len >= sizeof(text))
        return;
    contender_copy_printable(text, sizeof(text), data, len);
    if (inet_pton(AF_INET, text, scratch) == 1 || inet_pton(AF_INET6, text, scratch) == 1)
        memcpy(contender->address, text, len + 1);
}

void contender_decode(const char *data, size_t len, struct contender *contender)
{
    char who[CONTENDER_WHO_SIZE] = "";
    const char *line;
    size_t line_len;

    *contender = (struct contender){.known = contender_begins(data, len, version)};
    if (!contender->known) {
        take_address(data, len, contender);
        return;
    }
    line = find_line(data, len, 0, &line_len) + sizeof(version) - 1;
    line_len -= sizeof(version) - 1;
    contender->held = contender_begins(line, line_len, "held ");
    if (memmem(line, line_len, " shared", 7))
        contender->terms.kind = CONTENDER_SHARED;
    take_who(contender_who(data, len, who), contender);
    line = find_line(data, len, 2, &line_len);
    if (line)
        take_pairs(line, line_len, contender);
}

/* A holder that had to wait wrote when it got the lock; one that had not never writes again. */
int64_t contender_held_since(const struct contender *contender, int64_t ctime, int64_t mtime)
{
    if (contender->held_ms >= ctime && contender->held_ms <= mtime)
        return contender->held_ms;
    return contender->held ? mtime : ctime;
}
