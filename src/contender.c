#include "contender.h"

#include <string.h>

static const char *const texts[][2] = {
    [CONTENDER_WAITING] = {"zkflock/1 waiting exclusive\n", "zkflock/1 waiting shared\n"},
    [CONTENDER_HELD] = {"zkflock/1 held exclusive\n", "zkflock/1 held shared\n"},
};

const char *contender_encode(enum contender_state state, bool shared)
{
    return texts[state][shared];
}

bool contender_holds_exclusively(const char *data, size_t len)
{
    const char *held = texts[CONTENDER_HELD][false];

    return len >= strlen(held) && memcmp(data, held, strlen(held)) == 0;
}
