#include "contender.h"

#include <string.h>

static const char *const texts[] = {
    [CONTENDER_WAITING] = "zkflock/1 waiting exclusive\n",
    [CONTENDER_HELD] = "zkflock/1 held exclusive\n",
};

const char *contender_encode(enum contender_state state)
{
    return texts[state];
}

bool contender_holds_exclusively(const char *data, size_t len)
{
    const char *held = texts[CONTENDER_HELD];

    return len >= strlen(held) && memcmp(data, held, strlen(held)) == 0;
}
