#include "recipe.h"

#include <string.h>

enum { SEQUENCE_DIGITS = 10 };

bool recipe_sequence(const char *name, int32_t *sequence)
{
    size_t len = strlen(name);
    int64_t value = 0;

    if (len < SEQUENCE_DIGITS)
        return false;
    for (const char *p = name + len - SEQUENCE_DIGITS; *p; p++) {
        if (*p < '0' || *p > '9')
            return false;
        value = value * 10 + (*p - '0');
    }
    if (value > INT32_MAX)
        return false;
    *sequence = (int32_t)value;
    return true;
}

/* By number; equal numbers, which other recipes in the same lock may bring, by name. */
static bool comes_before(int32_t a_sequence, const char *a, int32_t b_sequence, const char *b)
{
    return a_sequence != b_sequence ? a_sequence < b_sequence : strcmp(a, b) < 0;
}

struct recipe_place recipe_place(char *const *children, size_t count, const char *own)
{
    struct recipe_place place = {0};
    int32_t own_sequence;
    int32_t first_sequence = 0;
    int32_t predecessor_sequence = 0;

    if (!recipe_sequence(own, &own_sequence))
        return place;
    for (size_t i = 0; i < count; i++) {
        const char *child = children[i];
        int32_t sequence;

        if (!recipe_sequence(child, &sequence))
            continue;
        if (strcmp(child, own) == 0)
            place.found = true;
        if (!place.first || comes_before(sequence, child, first_sequence, place.first)) {
            place.first = child;
            first_sequence = sequence;
        }
        if (!comes_before(sequence, child, own_sequence, own))
            continue;
        place.ahead++;
        if (!place.predecessor ||
            comes_before(predecessor_sequence, place.predecessor, sequence, child)) {
            place.predecessor = child;
            predecessor_sequence = sequence;
        }
    }
    return place;
}

static uint32_t departed(struct recipe_census census)
{
    /* The sum may pass 2^31 long before either part wraps, so it is halved as a 64-bit number. */
    uint64_t twice_created = (uint64_t)(uint32_t)census.cversion + (uint32_t)census.children;

    return (uint32_t)(twice_created / 2) - (uint32_t)census.children;
}

uint32_t recipe_vanished(struct recipe_census census, uint32_t base)
{
    return departed(census) - (uint32_t)census.version - base;
}

uint32_t recipe_base_for_adoption(struct recipe_census census)
{
    return departed(census) - ((uint32_t)census.version + 1);
}

bool recipe_plausible(uint32_t vanished)
{
    return vanished < UINT32_C(1) << 31;
}
