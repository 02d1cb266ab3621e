/*
 * A lock as it is shown, made of znodes with any names, data and Stats.  It shows each contender
 * once, holders first; a lock has one exclusive holder or only shared ones, and a semaphore no more
 * holders than permits; the state goes with them.
 */
#include "list/view.h"

#include "fuzz.h"
#include "lock/record.h"

enum { CONTENDERS_MAX = 12 };

static struct fuzz_input input;

static const char guid[] = "0123456789abcdef0123456789abcdef";

/* Returns a name as contenders have it, most of the time. */
static char *draw_name(bool kazoo_permits)
{
    static const char *const kinds[] = {"lock-", "__READ__", "__WRIT__", "lease-", "__rlock__"};
    char *name = NULL;
    int len;

    if (kazoo_permits)
        len = asprintf(&name, "%.31s%x", guid, fuzz_below(&input, 16));
    else if (fuzz_below(&input, 8) == 0)
        len = asprintf(&name, "%s", RECIPE_UNFAIR_NAME);
    else
        len = asprintf(&name, "_c_%.31s%x-%s%010u", guid, fuzz_below(&input, 16),
                       kinds[fuzz_below(&input, 5)], fuzz_below(&input, 20));
    if (len < 0)
        abort();
    return name;
}

static int64_t draw_time(void)
{
    return fuzz_below(&input, 4) ? fuzz_byte(&input) : (int64_t)fuzz_number(&input, 8);
}

/* As request.c lets it pass: below 2^48, in the year 10889. */
static int64_t draw_stat_time(void)
{
    return draw_time() & INT64_C(0xFFFFFFFFFFFF);
}

static void draw_contender(struct view_contender *contender, bool kazoo_permits)
{
    static const char *const lines[] = {"waiting exclusive", "held exclusive", "held shared"};
    char *name = draw_name(kazoo_permits);
    char *drawn = fuzz_draw_text(&input, 30);
    char *data = NULL;

    *contender = (struct view_contender){.read = kazoo_permits || fuzz_below(&input, 4) > 0};
    if (asprintf(&contender->path, "/locks/x/%s", name) < 0 ||
        asprintf(&data, "zkflock/1 %s\na@b pid 1: c\n%s%s", lines[fuzz_below(&input, 3)],
                 fuzz_below(&input, 4) ? "" : "settling=5ms kind=permit ", drawn) < 0)
        abort();
    if (contender->read) {
        contender->session = fuzz_below(&input, 8);
        contender->czxid = draw_time();
        contender->ctime_ms = draw_stat_time();
        contender->mtime_ms = draw_stat_time();
        contender_decode(data, strlen(data), &contender->told);
    } else {
        contender->pending = fuzz_below(&input, 2);
        contender->rc = contender->pending ? 0 : -102;
    }
    free(data);
    free(drawn);
    free(name);
}

static bool is_known(const struct view_source *source, const char *path)
{
    for (size_t i = 0; i < source->len; i++)
        if (strcmp(source->contenders[i].path, path) == 0)
            return true;
    return false;
}

/* Draws what was read of a znode; data has to last. */
static void draw_source(struct view_source *source, const char *data, bool kazoo_permits)
{
    size_t count = fuzz_below(&input, CONTENDERS_MAX);

    *source = (struct view_source){
        .data = data,
        .data_len = strlen(data),
        .census = {.version = (int32_t)draw_time(),
                   .cversion = (int32_t)draw_time(),
                   .children = (int32_t)fuzz_byte(&input)},
        .pzxid = draw_time(),
        .contenders = calloc(count + 1, sizeof(source->contenders[0])),
    };
    if (!source->contenders)
        abort();
    while (count-- > 0) {
        struct view_contender contender;

        draw_contender(&contender, kazoo_permits);
        if (is_known(source, contender.path))
            free(contender.path);
        else
            source->contenders[source->len++] = contender;
    }
}

static void check(const struct view *view, const char *data, size_t shown, bool has_queue)
{
    size_t shared = 0;
    struct record record = {0};
    bool ours = record_decode(data, strlen(data), &record);

    MUST(view->len == shown || (has_queue && view->len + 1 == shown));
    MUST(view->holders <= view->len);
    MUST((view->state == VIEW_HELD) == (view->holders > 0));
    MUST(view->is_lock || (!ours && view->len == 0));
    MUST(!ours || (view->permits == record.permits && view->lease_ms == record.lease_ms));
    MUST(view->until_ms == 0 || view->state == VIEW_SETTLING);
    MUST(view->len == 0 || view->kind_known);
    for (size_t i = 0; i < view->len; i++) {
        const struct view_contender *contender = &view->contenders[i];

        MUST(contender->holds == (i < view->holders));
        MUST(!contender->holds || contender->until_ms == 0);
        shared += contender->holds && contender->kind == CONTENDER_SHARED;
        for (size_t j = 0; j < i; j++)
            MUST(has_queue || strcmp(view->contenders[j].path, contender->path) != 0);
    }
    if (view->kind == CONTENDER_PERMIT && has_queue)
        MUST(!ours || view->holders <= (size_t)record.permits);
    else if (view->kind != CONTENDER_PERMIT)
        MUST(view->holders <= 1 || shared == view->holders);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const records[] = {"", "zkflock/1 base=0 lease=15000ms\n",
                                          "zkflock/1 base=3 lease=1000ms permits=2\n"};
    struct view_source lock;
    struct view_source queue;
    struct view view;
    unsigned int which;
    bool has_queue;
    char *drawn;
    const char *data;
    size_t shown;

    input = (struct fuzz_input){bytes, size};
    which = fuzz_below(&input, 4);
    has_queue = fuzz_below(&input, 2);
    drawn = fuzz_draw_text(&input, 60);
    data = which < 3 ? records[which] : drawn;
    draw_source(&lock, data, fuzz_below(&input, 8) == 0);
    shown = lock.len;
    if (has_queue) {
        draw_source(&queue, "", false);
        shown += queue.len;
    }
    view_make(&view, "/locks/x", &lock, has_queue ? &queue : NULL);
    check(&view, data, shown, has_queue);
    view_release(&view);
    free(drawn);
    return 0;
}
