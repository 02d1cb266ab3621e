#include "lock/recipe.h"

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

bool recipe_exhausted(const char *name)
{
    int32_t sequence;

    return !recipe_sequence(name, &sequence) || sequence >= RECIPE_SEQUENCE_LIMIT;
}

/* By number; equal numbers, which other recipes in the same lock may bring, by name. */
static bool comes_before(int32_t a_sequence, const char *a, int32_t b_sequence, const char *b)
{
    return a_sequence != b_sequence ? a_sequence < b_sequence : strcmp(a, b) < 0;
}

static bool ends_in(const char *text, size_t len, const char *end)
{
    size_t end_len = strlen(end);

    return len >= end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

/* Looks at the first len bytes of the name, which are those before the sequence number. */
static bool is_marked_shared(const char *name, size_t len)
{
    return ends_in(name, len, "__READ__") || ends_in(name, len, "__rlock__");
}

bool recipe_is_shared(const char *name)
{
    size_t len = strlen(name);

    return len >= SEQUENCE_DIGITS && is_marked_shared(name, len - SEQUENCE_DIGITS);
}

bool recipe_is_reserved(const char *prefix)
{
    size_t len = strlen(prefix);

    return is_marked_shared(prefix, len) || (len == strlen(RECIPE_UNFAIR_NAME) - SEQUENCE_DIGITS &&
                                             memcmp(prefix, RECIPE_UNFAIR_NAME, len) == 0);
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

bool recipe_is_semaphore_part(const char *name)
{
    return strcmp(name, RECIPE_SEMAPHORE_LEASES) == 0 || strcmp(name, RECIPE_SEMAPHORE_LOCKS) == 0;
}

bool recipe_may_be_kazoo_permit(const char *name)
{
    return strlen(name) == GUID_DIGITS && strspn(name, "0123456789abcdef") == GUID_DIGITS;
}

bool recipe_is_ephemeral(int64_t owner)
{
    /* INT64_MIN: a container, as Curator makes them for locks. */
    return owner != 0 && owner != INT64_MIN;
}

uint32_t recipe_departed(struct recipe_census census)
{
    /* The sum may pass 2^31 long before either part wraps, so it is halved as a 64-bit number. */
    uint64_t twice_created = (uint64_t)(uint32_t)census.cversion + (uint32_t)census.children;

    return (uint32_t)(twice_created / 2) - (uint32_t)census.children;
}

uint32_t recipe_vanished(struct recipe_census census, uint32_t base)
{
    return recipe_departed(census) - (uint32_t)census.version - base;
}

uint32_t recipe_base_for_adoption(struct recipe_census census, uint32_t settled)
{
    return settled - ((uint32_t)census.version + 1);
}

bool recipe_plausible(uint32_t vanished)
{
    return vanished < UINT32_C(1) << 31;
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Returns true if nobody has left since the wait began, and nobody was counted out. */
static bool is_unchanged(const struct recipe_facts *facts)
{
    return facts->census.version == facts->settling.version &&
           recipe_departed(facts->census) == recipe_departed(facts->settling);
}

/* Each that vanished may still run one command; there may be permits for all of them. */
static bool are_enough_permits(const struct recipe_facts *facts, uint32_t vanished)
{
    return (uint64_t)facts->taken + vanished <= facts->permits;
}

static struct recipe_decision decide(enum recipe_verdict verdict, uint32_t count)
{
    return (struct recipe_decision){.verdict = verdict, .count = count};
}

static struct recipe_decision decide_permit(const struct recipe_facts *facts, uint32_t vanished)
{
    uint32_t due = facts->settled ? lesser(facts->waited_for, vanished) : 0;

    /* Those that are due are squared even if there are permits enough, for whoever comes next. */
    if (due > 0)
        return decide(RECIPE_SQUARE, due);
    return decide(are_enough_permits(facts, vanished) ? RECIPE_HOLD : RECIPE_SETTLE, 0);
}

static struct recipe_decision decide_counted(const struct recipe_facts *facts)
{
    uint32_t vanished = recipe_vanished(facts->census, facts->base);

    if (vanished == 0)
        return decide(RECIPE_HOLD, 0);
    if (!recipe_plausible(vanished))
        return decide(RECIPE_DISTRUST, 0);
    if (!facts->careful)
        return decide(RECIPE_HOLD, 0);
    if (facts->kind == RECIPE_PERMIT)
        return decide_permit(facts, vanished);
    if (!facts->settled)
        return decide(RECIPE_SETTLE, 0);
    if (facts->kind == RECIPE_READER && !is_unchanged(facts))
        return decide(RECIPE_HOLD, 0);
    return decide(RECIPE_SQUARE, vanished);
}

/* Returns how many had left when the wait began; 0 without one, since nobody had. */
static uint32_t departures_waited_for(const struct recipe_facts *facts)
{
    return facts->settled ? recipe_departed(facts->settling) : 0;
}

/* Returns how many of those that left nobody has to wait for any more. */
static uint32_t departures_done_with(const struct recipe_facts *facts)
{
    uint32_t departed = recipe_departed(facts->census);

    /* Makes the next contender wait: this one has waited for nobody. */
    if (!facts->careful)
        return departed - lesser(departed, facts->permits ? (uint32_t)facts->permits : 1);
    return facts->kind == RECIPE_EXCLUSIVE ? departed : departures_waited_for(facts);
}

/* Without a count all who have left since the wait began may still run a command. */
static bool is_room_uncounted(const struct recipe_facts *facts)
{
    return facts->kind != RECIPE_PERMIT ||
           are_enough_permits(facts, recipe_departed(facts->census) - departures_waited_for(facts));
}

/* Where nobody has ever left nobody has vanished, unless the znode was made anew from a record. */
static bool may_have_vanished(const struct recipe_facts *facts)
{
    return facts->record == RECIPE_WRONG || recipe_departed(facts->census) > 0;
}

static bool may_be_adopted(const struct recipe_facts *facts)
{
    return facts->record == RECIPE_NO_RECORD || facts->record == RECIPE_WRITABLE ||
           facts->record == RECIPE_WRONG;
}

static struct recipe_decision decide_wait(const struct recipe_facts *facts)
{
    bool may_be_refused = facts->record == RECIPE_NO_RECORD && facts->longer_lease;

    return decide(may_be_refused ? RECIPE_ASK_WRITE : RECIPE_SETTLE, 0);
}

/* Without a record all have the default lease. */
static struct recipe_decision decide_blind(const struct recipe_facts *facts)
{
    return decide(facts->longer_lease ? RECIPE_REFUSE_LEASE : RECIPE_HOLD_BLIND, 0);
}

struct recipe_decision recipe_decide(const struct recipe_facts *facts)
{
    if (facts->careful && facts->vanished_above > 0)
        return facts->settled ? decide(RECIPE_SQUARE_ABOVE, 0) : decide_wait(facts);
    if (facts->record == RECIPE_COUNTED)
        return decide_counted(facts);
    if (facts->record == RECIPE_NEEDLESS)
        return decide(RECIPE_HOLD, 0);
    if (facts->careful && !facts->settled && may_have_vanished(facts))
        return decide_wait(facts);
    if (may_be_adopted(facts))
        return decide(RECIPE_ADOPT,
                      recipe_base_for_adoption(facts->census, departures_done_with(facts)));
    if (facts->careful && !is_room_uncounted(facts))
        return decide(RECIPE_SETTLE, 0);
    return facts->record == RECIPE_FORBIDDEN ? decide_blind(facts) : decide(RECIPE_HOLD, 0);
}
