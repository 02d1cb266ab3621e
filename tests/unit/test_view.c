/* What a list shows of a lock, and what has changed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "list/list_change.h"
#include "list/view.h"
#include "unit.h"

/* A source with these contenders: name, czxid, settling and so on are set by the caller. */
static struct view_source source_of(const char *const *names, size_t len)
{
    struct view_source source = {.data = "zkflock/1 base=0 lease=15000ms\n"};

    source.data_len = strlen(source.data);
    source.contenders = xcalloc(len + 1, sizeof(source.contenders[0]));
    source.len = len;
    for (size_t i = 0; i < len; i++) {
        source.contenders[i] = (struct view_contender){
            .path = xasprintf("/l/%s", names[i]),
            .read = true,
            .told = {.known = true},
            .session = (int64_t)i + 1,
            .czxid = (int64_t)i + 100,
            .ctime_ms = 1000 * ((int64_t)i + 1),
            .mtime_ms = 1000 * ((int64_t)i + 1),
        };
    }
    return source;
}

static void check_view(const char *what, struct view_source *lock, struct view_source *queue,
                       enum view_state state, size_t holders, const char *order)
{
    struct view view;
    char found[512] = "";
    size_t len = 0;

    view_make(&view, "/l", lock, queue);
    for (size_t i = 0; i < view.len; i++)
        len += (size_t)snprintf(found + len, sizeof(found) - len, "%s%s", i ? " " : "",
                                view_name(&view.contenders[i]));
    CHECK(what, view.state == state);
    CHECK(what, view.holders == holders);
    CHECK(found, strcmp(found, order) == 0);
    view_release(&view);
}

static void test_view(void)
{
    static const char *const plain[] = {"b-0000000012", "a-0000000011", "c-0000000011"};
    static const char *const readers[] = {"x-__READ__0000000003", "x-lock-0000000005",
                                          "x-__READ__0000000004", "x-__READ__0000000006"};
    static const char *const unfair[] = {"x-lock-0000000001", RECIPE_UNFAIR_NAME};
    static const char *const beside[] = {"_c_a-__READ__0000000000", "_c_b-__READ__0000000001",
                                         RECIPE_UNFAIR_NAME};
    static const char *const leases[] = {"x-lease-0000000001", "x-lease-0000000002",
                                         "x-lease-0000000003"};
    static const char *const takers[] = {"x-lock-0000000007", "x-lock-0000000008"};
    struct view_source source = source_of(NULL, 0);
    struct view_source queue;

    check_view("nobody", &source, NULL, VIEW_FREE, 0, "");
    source = source_of(plain, 3);
    check_view("in order", &source, NULL, VIEW_HELD, 1, "a-0000000011 c-0000000011 b-0000000012");
    source = source_of(readers, 4);
    check_view("readers", &source, NULL, VIEW_HELD, 2,
               "x-__READ__0000000003 x-__READ__0000000004 x-lock-0000000005 x-__READ__0000000006");
    source = source_of(unfair, 2);
    check_view("unfair and late", &source, NULL, VIEW_HELD, 1,
               "x-lock-0000000001 " RECIPE_UNFAIR_NAME);
    source = source_of(unfair, 2);
    source.contenders[1].czxid = 1;
    check_view("unfair and first", &source, NULL, VIEW_HELD, 1,
               RECIPE_UNFAIR_NAME " x-lock-0000000001");
    source = source_of(beside, 3);
    check_view("unfair and behind readers", &source, NULL, VIEW_HELD, 2,
               "_c_a-__READ__0000000000 _c_b-__READ__0000000001 " RECIPE_UNFAIR_NAME);
    source = source_of(unfair, 2);
    source.contenders[1].read = false;
    source.contenders[1].pending = true;
    check_view("unfair and not read yet", &source, NULL, VIEW_HELD, 1,
               "x-lock-0000000001 " RECIPE_UNFAIR_NAME);

    source = source_of(plain, 2);
    source.contenders[1].told.terms.settling_ms = 5000;
    check_view("settling", &source, NULL, VIEW_SETTLING, 0, "a-0000000011 b-0000000012");
    source = source_of(plain, 1);
    source.census = (struct recipe_census){.cversion = 3, .children = 1}; /* one has vanished */
    source.pzxid = 100;
    check_view("will settle", &source, NULL, VIEW_SETTLING, 0, "b-0000000012");
    source = source_of(plain, 1);
    source.census = (struct recipe_census){.cversion = 3, .children = 1};
    source.pzxid = 101;
    check_view("one behind vanished", &source, NULL, VIEW_HELD, 1, "b-0000000012");
    source = source_of(plain, 1);
    source.census = (struct recipe_census){.cversion = 3, .children = 1};
    source.pzxid = 100;
    source.contenders[0].told.terms.no_delay = true;
    check_view("does not settle", &source, NULL, VIEW_HELD, 1, "b-0000000012");

    source = source_of(leases, 3);
    source.data = "zkflock/1 base=0 lease=15000ms permits=2\n";
    source.data_len = strlen(source.data);
    queue = source_of(takers, 2);
    queue.contenders[0].session = 3; /* has the third lease too */
    check_view("permits", &source, &queue, VIEW_HELD, 2,
               "x-lease-0000000001 x-lease-0000000002 x-lease-0000000003 x-lock-0000000008");
    source = source_of(leases, 3);
    source.data_len = 0;
    queue = source_of(takers, 1);
    queue.contenders[0].session = 3;
    check_view("nobody knows how many permits", &source, &queue, VIEW_HELD, 2,
               "x-lease-0000000001 x-lease-0000000002 x-lease-0000000003");
    source = source_of(leases, 0);
    queue = source_of(takers, 1);
    check_view("a permit is about to be taken", &source, &queue, VIEW_FREE, 0, "x-lock-0000000007");
}

static void test_view_times(void)
{
    static const char *const names[] = {"a-0000000001", "b-0000000002"};
    struct view_source source = source_of(names, 2);
    struct view view;

    source.contenders[0].told.held = true;
    source.contenders[0].mtime_ms = 9000;
    source.contenders[1].mtime_ms = 9000;
    view_make(&view, "/l", &source, NULL);
    CHECK("holds since it wrote so", view.contenders[0].since_ms == 9000);
    CHECK("waits since it came", view.contenders[1].since_ms == 2000);
    view_release(&view);
}

static int note_change(const struct change *change, void *whose)
{
    char *text = whose;

    if (change->kind == CHANGE_REMOVED)
        CHECK("removed", change->view->state == VIEW_FREE && change->view->len == 0);
    sprintf(text + strlen(text), "%s%s%s%s", *text ? ", " : "", list_change_word(change->kind),
            change->contender ? " " : "", change->contender ? view_name(change->contender) : "");
    return 0;
}

static struct view view_of(const char *const *names, size_t len, uint32_t vanished)
{
    struct view_source source = source_of(names, len);
    struct view view;

    view_make(&view, "/l", &source, NULL);
    view.vanished = vanished;
    return view;
}

static void check_changes(struct view *old, struct view *now, const char *expected)
{
    char text[512] = "";

    list_changes(old, old != NULL, now, now != NULL, note_change, text);
    CHECK(text, strcmp(text, expected) == 0);
}

static void test_changes(void)
{
    static const char *const names[] = {"a-0000000001", "b-0000000002", "c-0000000003"};
    struct view none = view_of(names, 0, 0);
    struct view one = view_of(names, 1, 0);
    struct view two = view_of(names, 2, 0);
    struct view three = view_of(names, 3, 0);
    struct view last = view_of(names + 2, 1, 0);
    struct view crashed = view_of(names, 0, 1);
    struct view next = view_of(names + 1, 1, 1);
    struct view room = view_of(names + 1, 1, 1);
    char made[512] = "";

    last.contenders[0].czxid = three.contenders[2].czxid;
    check_changes(NULL, &none, "free");
    check_changes(NULL, &two, "held a-0000000001, waiting b-0000000002");
    check_changes(&none, &one, "acquired a-0000000001");
    check_changes(&one, &three, "waiting b-0000000002, waiting c-0000000003");
    check_changes(&three, &two, "left c-0000000003");
    check_changes(&three, &last, "released a-0000000001, left b-0000000002, acquired c-0000000003");
    check_changes(&one, &crashed, "vanished a-0000000001");
    check_changes(&one, &one, "");
    check_changes(&one, NULL, "released a-0000000001, removed");
    list_changes(&one, 0, &one, 1, note_change, made);
    CHECK(made, strcmp(made, "made, acquired a-0000000001") == 0);
    /* Of the same name, but another one. */
    last.contenders[0].czxid++;
    check_changes(&three, &last,
                  "released a-0000000001, left b-0000000002, left c-0000000003, "
                  "acquired c-0000000003");
    /* The next one of one that vanished waits first; but where a permit is left it need not. */
    next.contenders[0].czxid = two.contenders[1].czxid;
    next.contenders[0].told.known = true;
    room.contenders[0].czxid = two.contenders[1].czxid;
    room.contenders[0].told.known = true;
    room.permits = 2;
    check_changes(&two, &room, "vanished a-0000000001, acquired b-0000000002");
    check_changes(&two, &next, "vanished a-0000000001");
    CHECK("next", next.holders == 0 && next.state == VIEW_SETTLING);
    next.contenders[0].holds = true;
    next.contenders[0].told.terms.no_delay = true;
    check_changes(&two, &next, "vanished a-0000000001, acquired b-0000000002");
    view_release(&none);
    view_release(&one);
    view_release(&two);
    view_release(&three);
    view_release(&last);
    view_release(&crashed);
    view_release(&next);
    view_release(&room);
}

/* With --unfair one that has to wait is there only until it finds that out. */
static void test_unfair_changes(void)
{
    static const char *const names[] = {"x-lock-0000000001", RECIPE_UNFAIR_NAME};
    struct view none = view_of(names, 0, 0);
    struct view fair = view_of(names, 1, 0);
    struct view both = view_of(names, 2, 0);
    struct view unfair = view_of(names + 1, 1, 0);
    struct view crashed = view_of(names, 1, 1);

    check_changes(&fair, &both, "");
    check_changes(&both, &fair, "");
    check_changes(&both, &crashed, "vanished " RECIPE_UNFAIR_NAME);
    check_changes(&none, &unfair, "acquired " RECIPE_UNFAIR_NAME);
    check_changes(&unfair, &none, "released " RECIPE_UNFAIR_NAME);
    view_release(&none);
    view_release(&fair);
    view_release(&both);
    view_release(&unfair);
    view_release(&crashed);
}

static struct view semaphore_of(const char *const *leases, size_t leases_len, int64_t session,
                                const char *const *takers, size_t takers_len)
{
    struct view_source source = source_of(leases, leases_len);
    struct view_source queue = source_of(takers, takers_len);
    struct view view;

    source.data = "zkflock/1 base=0 lease=15000ms permits=1\n";
    source.data_len = strlen(source.data);
    if (leases_len > 1)
        source.contenders[1].session = session;
    for (size_t i = 0; i < takers_len; i++)
        queue.contenders[i].session = 10 + (int64_t)i;
    view_make(&view, "/l", &source, &queue);
    return view;
}

/* Whoever waits for a permit has one znode in the queue, then one among the leases. */
static void test_permit_changes(void)
{
    static const char *const leases[] = {"x-lease-0000000001", "x-lease-0000000002"};
    static const char *const takers[] = {"x-lock-0000000007", "x-lock-0000000008"};
    struct view queued = semaphore_of(leases, 1, 0, takers, 2);
    struct view moving = semaphore_of(leases, 2, 10, takers, 2);
    struct view moved = semaphore_of(leases, 2, 10, takers, 1);
    struct view holds = semaphore_of(leases + 1, 1, 0, takers, 0);
    struct view other = semaphore_of(leases, 2, 12, takers, 1);
    struct view same = semaphore_of(leases, 1, 0, takers, 1);

    /* The other one waits on. */
    check_changes(&queued, &moving, "");
    /* That one gives up. */
    check_changes(&moving, &moved, "left x-lock-0000000008");
    check_changes(&queued, &other, "left x-lock-0000000008, waiting x-lease-0000000002");
    holds.contenders[0].session = 10;
    holds.contenders[0].czxid = moved.contenders[1].czxid;
    check_changes(&moved, &holds, "released x-lease-0000000001, acquired x-lease-0000000002");
    check_changes(&same, &holds, "released x-lease-0000000001, acquired x-lease-0000000002");
    /* What holds has not moved: a client that gives one back and comes again. */
    same.contenders[1].session = 10;
    check_changes(&holds, &same,
                  "released x-lease-0000000002, acquired x-lease-0000000001, "
                  "waiting x-lock-0000000007");
    view_release(&queued);
    view_release(&moving);
    view_release(&moved);
    view_release(&holds);
    view_release(&other);
    view_release(&same);
}

void unit_view(void)
{
    test_view();
    test_view_times();
    test_changes();
    test_unfair_changes();
    test_permit_changes();
}
