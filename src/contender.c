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
