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

bool recipe_is_shared(const char *name)
{
    static const char *const marks[] = {"__READ__", "__rlock__"};
    size_t len = strlen(name);

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        size_t mark_len = strlen(marks[i]);

        if (len >= mark_len + SEQUENCE_DIGITS &&
            memcmp(name + len - SEQUENCE_DIGITS - mark_len, marks[i], mark_len) == 0)
            return true;
    }
    return false;
}

struct recipe_place recipe_place(char *const *children, size_t count, const char *own)
{
    struct recipe_place place = {0};
    bool shared = recipe_is_shared(own);
    bool unfair = strcmp(own, RECIPE_UNFAIR_NAME) == 0;
    const char *first = NULL;
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
        if (strcmp(child, own) == 0) {
            place.found = true;
            if (unfair)
                continue;
        }
        if (!first || comes_before(sequence, child, first_sequence, first)) {
            first = child;
            first_sequence = sequence;
        }
        if ((!unfair && !comes_before(sequence, child, own_sequence, own)) ||
            (shared && recipe_is_shared(child)))
            continue;
        place.ahead++;
        if (!place.predecessor ||
            comes_before(predecessor_sequence, place.predecessor, sequence, child)) {
            place.predecessor = child;
            predecessor_sequence = sequence;
        }
    }
    place.predecessor_first = place.predecessor && place.predecessor == first;
    return place;
}

const char *recipe_first(char *const *children, size_t count)
{
    const char *first = NULL;
    int32_t first_sequence = 0;
    int32_t sequence;

    for (size_t i = 0; i < count; i++) {
        if (!recipe_sequence(children[i], &sequence) ||
            (first && comes_before(first_sequence, first, sequence, children[i])))
            continue;
        first = children[i];
        first_sequence = sequence;
    }
    return first;
}

size_t recipe_contenders(char *const *children, size_t count)
{
    size_t contenders = 0;
    int32_t sequence;

    for (size_t i = 0; i < count; i++)
        contenders += recipe_sequence(children[i], &sequence);
    return contenders;
}

static bool contains(char *const *children, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(children[i], name) == 0)
            return true;
    return false;
}

enum { GUID_DIGITS = 32 };

bool recipe_lists(char *const *children, size_t count, const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    if (!slash)
        return false;

    const char *name = slash + 1;
    const char *guid = strncmp(name, "_c_", 3) == 0 ? name + 3 : name;

    /* Without a GUID it may be a namesake. */
    return strspn(guid, "0123456789abcdef") >= GUID_DIGITS && contains(children, count, name);
}

bool recipe_is_semaphore(char *const *children, size_t count)
{
    return contains(children, count, RECIPE_SEMAPHORE_LEASES);
}

bool recipe_is_kazoo_semaphore(char *const *children, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(children[i]) == GUID_DIGITS &&
            strspn(children[i], "0123456789abcdef") == GUID_DIGITS)
            return true;
    return false;
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
