/* Who stands before whom, and who has been counted. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/recipe.h"
#include "unit.h"

static void test_sequence(void)
{
    int32_t n = -1;

    CHECK("curator", recipe_sequence("_c_0123-lock-0000000042", &n) && n == 42);
    CHECK("plain", recipe_sequence("x0000000007", &n) && n == 7);
    CHECK("last", recipe_sequence("lock-2147483647", &n) && n == INT32_MAX);
    CHECK("too great", !recipe_sequence("lock-2147483648", &n));
    CHECK("overflown", !recipe_sequence("lock--2147483648", &n));
    CHECK("negative", !recipe_sequence("lock--000000001", &n));
    CHECK("short", !recipe_sequence("000000001", &n));
    CHECK("letters", !recipe_sequence("lock-00000000x1", &n));
    CHECK("digits alone", recipe_sequence("0000000001", &n) && n == 1);
}

static void test_place(void)
{
    char *const children[] = {
        (char *)"_c_ffff-lock-0000000012", (char *)"config",           (char *)"x-0000000003",
        (char *)"_c_0000-lock-0000000011", (char *)"mylock0000000003", (char *)"bad-00000000x4",
    };
    const size_t count = sizeof(children) / sizeof(children[0]);
    struct recipe_place place = recipe_place(children, count, "_c_ffff-lock-0000000012");

    CHECK("last", place.found && place.ahead == 3);
    CHECK("last", strcmp(place.predecessor, "_c_0000-lock-0000000011") == 0);
    CHECK("last", !place.predecessor_first);

    place = recipe_place(children, count, "mylock0000000003");
    CHECK("equal numbers go by name", place.found && place.ahead == 0 && !place.predecessor);
    place = recipe_place(children, count, "x-0000000003");
    CHECK("equal numbers go by name", place.ahead == 1 &&
                                          strcmp(place.predecessor, "mylock0000000003") == 0 &&
                                          place.predecessor_first);
    place = recipe_place(children, count, "_c_eeee-lock-0000000012");
    CHECK("not in the list", !place.found);
    place = recipe_place(children, count, "config");
    CHECK("no contender", !place.found);
    place = recipe_place(NULL, 0, "x-0000000003");
    CHECK("empty list", !place.found && place.ahead == 0);
}

static void test_shared(void)
{
    char *const children[] = {
        (char *)"_c_aa-__READ__0000000001", (char *)"_c_bb-__READ__0000000002",
        (char *)"_c_cc-__WRIT__0000000003", (char *)"_c_dd-__READ__0000000004",
        (char *)"ee__rlock__0000000005",    (char *)"_c_ff-lock-0000000006",
    };
    struct recipe_place place;

    CHECK("curator", recipe_is_shared("_c_aa-__READ__0000000001"));
    CHECK("kazoo", recipe_is_shared("ee__rlock__0000000005"));
    CHECK("writer", !recipe_is_shared("_c_cc-__WRIT__0000000003"));
    CHECK("mark elsewhere", !recipe_is_shared("__READ__-lock-0000000003"));
    CHECK("short", !recipe_is_shared("READ__0000000003"));
    CHECK("reader", recipe_is_reserved("x__READ__"));
    CHECK("kazoo's reader", recipe_is_reserved("__rlock__"));
    CHECK("unfair", recipe_is_reserved("unfair__lock__-lock-"));
    CHECK("its end", !recipe_is_reserved("lock-"));
    CHECK("its beginning", !recipe_is_reserved("unfair__lock__"));
    CHECK("no reader", !recipe_is_reserved("__READ__-"));

    place = recipe_place(children, 6, children[1]);
    CHECK("beside a reader", place.found && !place.predecessor && place.ahead == 0);
    place = recipe_place(children, 6, children[2]);
    CHECK("writer behind readers",
          place.ahead == 2 && place.predecessor == children[1] && !place.predecessor_first);
    place = recipe_place(children, 6, children[3]);
    CHECK("reader behind a writer",
          place.ahead == 1 && place.predecessor == children[2] && !place.predecessor_first);
    place = recipe_place(children, 6, children[4]);
    CHECK("past another reader", place.ahead == 1 && place.predecessor == children[2]);
    place = recipe_place(children, 6, children[5]);
    CHECK("writer last", place.ahead == 5 && place.predecessor == children[4]);
    place = recipe_place(children + 2, 4, children[4]);
    CHECK("the writer is first", place.predecessor == children[2] && place.predecessor_first);
}

static void test_unfair(void)
{
    char *const children[] = {(char *)"_c_aa-lock-0000000004", (char *)RECIPE_UNFAIR_NAME,
                              (char *)"_c_bb-__READ__0000000005"};
    struct recipe_place place = recipe_place(children, 3, children[0]);

    CHECK("before the fair ones",
          place.ahead == 1 && place.predecessor == children[1] && place.predecessor_first);
    place = recipe_place(children, 3, RECIPE_UNFAIR_NAME);
    CHECK("waits for all", place.found && place.ahead == 2 && place.predecessor == children[2]);
    char *const unique[] = {(char *)"_c_0123456789abcdef0123456789abcdef-lock-0000000001",
                            (char *)"lock0000000001",
                            (char *)"_c_cc23456789abcdef0123456789abcdef-lock-0000000002",
                            (char *)"0123456789abcdef0123456789abcdef__lock__0000000003"};

    CHECK("there",
          recipe_lists(unique, 2, "/a/_c_0123456789abcdef0123456789abcdef-lock-0000000001"));
    CHECK("other",
          !recipe_lists(unique, 2, "/a/_c_0123456789abcdef0123456789abcdee-lock-0000000001"));
    CHECK("namesake", !recipe_lists(unique, 2, "/a/lock0000000001"));
    CHECK("begins as the prefix does",
          recipe_lists(unique, 3, "/a/_c_cc23456789abcdef0123456789abcdef-lock-0000000002"));
    CHECK("kazoo's",
          recipe_lists(unique, 4, "/a/0123456789abcdef0123456789abcdef__lock__0000000003"));
    CHECK("nobody", !recipe_lists(unique, 2, NULL) && !recipe_lists(unique, 2, ""));
    place = recipe_place(children + 1, 1, RECIPE_UNFAIR_NAME);
    CHECK("alone", place.found && place.ahead == 0 && !place.predecessor);
}

enum { FUZZ_CHILDREN = 12 };

static void fuzz_name(char name[64])
{
    static const char *const parts[] = {"_c_",  "lock-",     "__READ__",   "__rlock__", "x",
                                        "-",    "0",         "9",          "\xff",      "00000",
                                        "\x1b", "000000000", "2147483647", "4294967296"};
    size_t len = 0;

    for (uint32_t i = fuzz_below(5); i > 0; i--)
        len +=
            (size_t)sprintf(name + len, "%s", parts[fuzz_below(sizeof(parts) / sizeof(parts[0]))]);
    if (fuzz_below(2))
        sprintf(name + len, "%010u", fuzz_below(6));
    else
        name[len] = '\0';
}

/* Returns the sequence number of a name, -1 if it has none; independent of recipe_sequence(). */
static int64_t number_of(const char *name)
{
    size_t len = strlen(name);
    int64_t number;

    if (len < 10 || strspn(name + len - 10, "0123456789") != 10)
        return -1;
    number = strtoll(name + len - 10, NULL, 10);
    return number <= INT32_MAX ? number : -1;
}

static bool is_reader(const char *name)
{
    char begin[64] = "";

    if (strlen(name) < 10)
        return false;
    memcpy(begin, name, strlen(name) - 10);
    for (const char *const *mark = (const char *const[]){"__READ__", "__rlock__", NULL}; *mark;
         mark++)
        if (strlen(begin) >= strlen(*mark) &&
            strcmp(begin + strlen(begin) - strlen(*mark), *mark) == 0)
            return true;
    return false;
}

static bool is_before(const char *a, const char *b)
{
    return number_of(a) < number_of(b) || (number_of(a) == number_of(b) && strcmp(a, b) < 0);
}

/* Compares recipe_place() and its like with a plain search. */
static void check_place(char *const *children, const char *own)
{
    struct recipe_place place = recipe_place(children, FUZZ_CHILDREN, own);
    const char *first = NULL;
    const char *last = NULL;
    size_t ahead = 0;
    size_t contenders = 0;

    for (size_t i = 0; i < FUZZ_CHILDREN; i++) {
        const char *child = children[i];

        if (number_of(child) < 0)
            continue;
        contenders++;
        if (!first || is_before(child, first))
            first = child;
        if (number_of(own) < 0 || (is_reader(own) && is_reader(child)) || !is_before(child, own))
            continue;
        ahead++;
        if (!last || is_before(last, child))
            last = child;
    }
    CHECK(own, place.found == (number_of(own) >= 0) && place.ahead == ahead);
    CHECK(own, (place.predecessor == NULL) == (last == NULL) &&
                   (!last || strcmp(place.predecessor, last) == 0));
    CHECK(own, place.predecessor_first == (last && strcmp(first, last) == 0));
    CHECK(own, recipe_contenders(children, FUZZ_CHILDREN) == contenders);

    const char *found = recipe_first(children, FUZZ_CHILDREN);

    CHECK(own, (found == NULL) == (first == NULL) && (!found || strcmp(found, first) == 0));
}

static void test_fuzzed_names(void)
{
    char names[FUZZ_CHILDREN][64];
    char *children[FUZZ_CHILDREN];

    for (int round = 0; round < FUZZ_ROUNDS; round++) {
        for (size_t i = 0; i < FUZZ_CHILDREN; i++) {
            fuzz_name(names[i]);
            children[i] = names[i];
        }
        check_place(children, names[fuzz_below(FUZZ_CHILDREN)]);
    }
}

static void test_semaphores(void)
{
    char *const lock[] = {(char *)"config", (char *)"0123456789abcdef0123456789abcdeg",
                          (char *)"0123456789abcdef0123456789abcdef0", (char *)"leasesx"};
    char *const curator[] = {(char *)"locks", (char *)"leases"};
    const char *guid = "0123456789abcdef0123456789abcdef";

    CHECK("none", !recipe_is_semaphore(lock, 4));
    for (size_t i = 0; i < 4; i++)
        CHECK(lock[i], !recipe_may_be_kazoo_permit(lock[i]));
    CHECK("curator's", recipe_is_semaphore(curator, 2) && !recipe_is_semaphore(curator, 1));
    CHECK("kazoo's", recipe_may_be_kazoo_permit(guid));
    CHECK("a session", recipe_is_ephemeral(0x100000000000001) && recipe_is_ephemeral(-1));
    CHECK("a znode that stays, and a container",
          !recipe_is_ephemeral(0) && !recipe_is_ephemeral(INT64_MIN));
}

/* What ZooKeeper shows after so many created and departed, so many of them counted. */
static struct recipe_census census(uint32_t created, uint32_t departed, uint32_t counted)
{
    uint32_t children = created - departed;

    return (struct recipe_census){.version = (int32_t)counted,
                                  .cversion = (int32_t)(2 * created - children),
                                  .children = (int32_t)children};
}

static void test_count(void)
{
    CHECK("new", recipe_vanished(census(0, 0, 0), 0) == 0);
    CHECK("all counted", recipe_vanished(census(10, 7, 7), 0) == 0);
    CHECK("two vanished", recipe_vanished(census(10, 7, 5), 0) == 2);
    CHECK("version wraps", recipe_vanished(census(5, 5, 5), 0) == 0);
    CHECK("near the end", recipe_vanished(census(0x7fffffff, 0x7ffffff0, 0x7fffffef), 0) == 1);
    CHECK("beyond 2^30", recipe_vanished(census(0x60000000, 0x5fffff00, 0x5fffff00), 0) == 0);

    struct recipe_census foreign = census(100, 98, 3);
    uint32_t base = recipe_base_for_adoption(foreign, recipe_departed(foreign));

    CHECK("departed", recipe_departed(foreign) == 98);
    foreign.version++;
    CHECK("adopted", recipe_vanished(foreign, base) == 0);
    CHECK("adopted, then one vanished", recipe_vanished(census(100, 99, 4), base) == 1);
    CHECK("adopted, then one left", recipe_vanished(census(100, 99, 5), base) == 0);
    foreign.version--;
    base = recipe_base_for_adoption(foreign, 95);
    foreign.version++;
    CHECK("adopted, three not waited for", recipe_vanished(foreign, base) == 3);
    CHECK("more counted than left", !recipe_plausible(recipe_vanished(census(10, 7, 8), 0)));
    CHECK("plausible", recipe_plausible(recipe_vanished(census(10, 7, 6), 0)));
}

/* ---- recipe_decide(), a check for each row of its table ---- */

static enum recipe_verdict verdict(const struct recipe_facts *facts)
{
    return recipe_decide(facts).verdict;
}

/* A count that says this of those who vanished, with a base of 0. */
static struct recipe_facts counted(enum recipe_kind kind, uint32_t vanished)
{
    return (struct recipe_facts){.kind = kind,
                                 .record = RECIPE_COUNTED,
                                 .careful = true,
                                 .census = census(10, 9, 9 - vanished),
                                 .taken = 1,
                                 .permits = kind == RECIPE_PERMIT ? 3 : 0};
}

static void settled(struct recipe_facts *facts)
{
    facts->settled = true;
    facts->settling = facts->census;
    facts->waited_for = recipe_vanished(facts->census, facts->base);
}

static void test_decide_counted(void)
{
    static const enum recipe_kind kinds[] = {RECIPE_EXCLUSIVE, RECIPE_READER, RECIPE_PERMIT};
    struct recipe_facts facts;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        facts = counted(kinds[i], 0);
        CHECK("nobody vanished", verdict(&facts) == RECIPE_HOLD);
        facts = counted(kinds[i], 5);
        CHECK("some vanished", verdict(&facts) == RECIPE_SETTLE);
        facts.careful = false;
        CHECK("some vanished, at the user's risk", verdict(&facts) == RECIPE_HOLD);
        facts.careful = true;
        settled(&facts);
        CHECK("waited for", verdict(&facts) == RECIPE_SQUARE && recipe_decide(&facts).count == 5);
        facts.census.version = 100;
        CHECK("cannot be right", verdict(&facts) == RECIPE_DISTRUST);
        facts.careful = false;
        CHECK("cannot be right, at the user's risk", verdict(&facts) == RECIPE_DISTRUST);
    }

    /* One more has vanished since the wait began. */
    facts = counted(RECIPE_EXCLUSIVE, 1);
    settled(&facts);
    facts.census = census(11, 10, 8);
    CHECK("a writer squares all", recipe_decide(&facts).verdict == RECIPE_SQUARE);
    CHECK("a writer squares all", recipe_decide(&facts).count == 2);
    facts.kind = RECIPE_READER;
    CHECK("a reader leaves them to the next", verdict(&facts) == RECIPE_HOLD);
    /* One has left, counted out. */
    facts.census = census(11, 10, 9);
    CHECK("a reader leaves a changed count alone", verdict(&facts) == RECIPE_HOLD);
}

static void test_decide_permits(void)
{
    struct recipe_facts facts = counted(RECIPE_PERMIT, 2);

    CHECK("permits for all of them", verdict(&facts) == RECIPE_HOLD);
    facts.taken = 2;
    CHECK("one too few", verdict(&facts) == RECIPE_SETTLE);
    settled(&facts);
    CHECK("both waited for", verdict(&facts) == RECIPE_SQUARE && recipe_decide(&facts).count == 2);
    facts.waited_for = 1;
    CHECK("one waited for", verdict(&facts) == RECIPE_SQUARE && recipe_decide(&facts).count == 1);
    facts.waited_for = 0;
    CHECK("none waited for", verdict(&facts) == RECIPE_SETTLE);
    facts.taken = 1;
    CHECK("none waited for, permits for all", verdict(&facts) == RECIPE_HOLD);
    facts.waited_for = 7;
    CHECK("no more than there are", recipe_decide(&facts).count == 2);
    /* The contender has joined again since that wait. */
    facts.taken = 2;
    facts.settled = false;
    CHECK("waited for in another place", verdict(&facts) == RECIPE_SETTLE);
}

static void test_decide_uncounted(void)
{
    static const enum recipe_kind kinds[] = {RECIPE_EXCLUSIVE, RECIPE_READER, RECIPE_PERMIT};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct recipe_facts facts = counted(kinds[i], 0);

        facts.record = RECIPE_UNCOUNTED;
        CHECK("not known", verdict(&facts) == RECIPE_SETTLE);
        settled(&facts);
        CHECK("waited for", verdict(&facts) == RECIPE_HOLD);
        facts.record = RECIPE_FORBIDDEN;
        CHECK("waited for", verdict(&facts) == RECIPE_HOLD_BLIND);
        facts.settled = false;
        CHECK("no record, not known", verdict(&facts) == RECIPE_SETTLE);
        facts.careful = false;
        CHECK("no record, at the user's risk", verdict(&facts) == RECIPE_HOLD_BLIND);
        facts.record = RECIPE_UNCOUNTED;
        CHECK("at the user's risk", verdict(&facts) == RECIPE_HOLD);
    }

    /* More have left than there are permits. */
    struct recipe_facts facts = counted(RECIPE_PERMIT, 0);

    facts.careful = false;
    facts.record = RECIPE_UNCOUNTED;
    CHECK("permits at the user's risk", verdict(&facts) == RECIPE_HOLD);
    facts.record = RECIPE_FORBIDDEN;
    CHECK("no record, permits at the user's risk", verdict(&facts) == RECIPE_HOLD_BLIND);

    /* Three left during the wait, in whatever way. */
    facts = counted(RECIPE_PERMIT, 0);
    facts.record = RECIPE_UNCOUNTED;
    settled(&facts);
    facts.census = census(10 + 3, 9 + 3, 9);
    CHECK("as many as there are permits", verdict(&facts) == RECIPE_SETTLE);
    facts.permits = 4;
    CHECK("one fewer", verdict(&facts) == RECIPE_HOLD);
}

/* How many count as vanished once the record is written. */
static uint32_t vanished_after_adoption(const struct recipe_facts *facts)
{
    struct recipe_decision decision = recipe_decide(facts);
    struct recipe_census after = facts->census;

    CHECK("adopts", decision.verdict == RECIPE_ADOPT);
    after.version++;
    return recipe_vanished(after, decision.count);
}

static void test_decide_adoption(void)
{
    static const enum recipe_kind kinds[] = {RECIPE_EXCLUSIVE, RECIPE_READER, RECIPE_PERMIT};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct recipe_facts facts = counted(kinds[i], 4);

        facts.record = RECIPE_NO_RECORD;
        CHECK("not known", verdict(&facts) == RECIPE_SETTLE);
        settled(&facts);
        CHECK("all waited for", vanished_after_adoption(&facts) == 0);
        facts.census = census(12, 11, 5);
        CHECK("two left meanwhile",
              vanished_after_adoption(&facts) == (kinds[i] == RECIPE_EXCLUSIVE ? 0 : 2));
        facts.settled = facts.careful = false;
        CHECK("nobody waited for",
              vanished_after_adoption(&facts) == (kinds[i] == RECIPE_PERMIT ? 3 : 1));
        facts.census = census(1, 0, 0);
        CHECK("nobody ever left", vanished_after_adoption(&facts) == 0);
        facts.careful = true;
        CHECK("nobody to wait for", vanished_after_adoption(&facts) == 0);
        facts.record = RECIPE_WRITABLE;
        CHECK("nobody to wait for where a write is permitted",
              vanished_after_adoption(&facts) == 0);
        facts.record = RECIPE_WRONG;
        CHECK("nobody ever left, but the record is wrong", verdict(&facts) == RECIPE_SETTLE);
        facts.settled = true;
        CHECK("waited for", verdict(&facts) == RECIPE_ADOPT);
        facts.settled = facts.careful = false;
        CHECK("the record is wrong, at the user's risk", verdict(&facts) == RECIPE_ADOPT);
        facts.careful = true;
        facts.record = RECIPE_FORBIDDEN;
        CHECK("nobody to wait for without a record", verdict(&facts) == RECIPE_HOLD_BLIND);
        facts.census = census(2, 1, 0);
        CHECK("one has left", verdict(&facts) == RECIPE_SETTLE);
    }
}

/* A lease that only a record can grant. */
static void test_decide_longer_lease(void)
{
    static const struct {
        enum recipe_record record;
        enum recipe_verdict first, waited;
    } expected[] = {
        {RECIPE_UNCOUNTED, RECIPE_SETTLE, RECIPE_HOLD},
        {RECIPE_WRONG, RECIPE_SETTLE, RECIPE_ADOPT},
        {RECIPE_NEEDLESS, RECIPE_HOLD, RECIPE_HOLD},
        {RECIPE_NO_RECORD, RECIPE_ASK_WRITE, RECIPE_ADOPT},
        {RECIPE_WRITABLE, RECIPE_SETTLE, RECIPE_ADOPT},
        {RECIPE_FORBIDDEN, RECIPE_SETTLE, RECIPE_REFUSE_LEASE},
    };

    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct recipe_facts facts = counted(RECIPE_EXCLUSIVE, 0);

        facts.record = expected[i].record;
        facts.longer_lease = true;
        CHECK("not known", verdict(&facts) == expected[i].first);
        facts.careful = false;
        CHECK("at the user's risk", verdict(&facts) == expected[i].waited);
        facts.careful = true;
        settled(&facts);
        CHECK("waited for", verdict(&facts) == expected[i].waited);
        facts.settled = false;
        facts.vanished_above = 1;
        CHECK("a lock's holder vanished above",
              verdict(&facts) ==
                  (facts.record == RECIPE_NO_RECORD ? RECIPE_ASK_WRITE : RECIPE_SETTLE));
    }
}

static void test_decide_above(void)
{
    struct recipe_facts facts = counted(RECIPE_PERMIT, 0);

    facts.vanished_above = 1;
    CHECK("a lock's holder vanished", verdict(&facts) == RECIPE_SETTLE);
    settled(&facts);
    CHECK("waited for", verdict(&facts) == RECIPE_SQUARE_ABOVE);
    facts.careful = false;
    CHECK("at the user's risk", verdict(&facts) == RECIPE_HOLD);
}

static void test_exhausted(void)
{
    CHECK("first", !recipe_exhausted("/l/_c_a-lock-0000000000"));
    CHECK("below", !recipe_exhausted("/l/_c_a-lock-2147482646"));
    CHECK("limit", recipe_exhausted("/l/_c_a-lock-2147482647"));
    CHECK("stuck", recipe_exhausted("/l/_c_a-lock-2147483647"));
    CHECK("beyond", recipe_exhausted("/l/_c_a-lock--2147483648"));
}

static void test_lists(void)
{
    char *const children[] = {(char *)"b-0000000003", (char *)"config", (char *)"a-0000000003",
                              (char *)"c-0000000009", (char *)"d-000000001"};

    CHECK("first, equal numbers by name", recipe_first(children, 5) == children[2]);
    CHECK("none", recipe_first(children + 1, 1) == NULL);
    CHECK("contenders", recipe_contenders(children, 5) == 3);
}

void unit_recipe(void)
{
    test_decide_counted();
    test_decide_permits();
    test_decide_uncounted();
    test_decide_adoption();
    test_decide_longer_lease();
    test_decide_above();
    test_exhausted();
    test_lists();
    test_sequence();
    test_place();
    test_shared();
    test_unfair();
    test_fuzzed_names();
    test_semaphores();
    test_count();
}
