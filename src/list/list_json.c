#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <time.h>

#include "base/exitcode.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "list/describe.h"
#include "list/list_parts.h"

/* Grows when a key changes its meaning or goes. */
enum { FORMAT = 1 };

static json_t *time_or_null(int64_t ms)
{
    char text[TEXT_TIME_SIZE];
    time_t when = (time_t)(ms / 1000);
    struct tm utc;

    if (ms <= 0 || !gmtime_r(&when, &utc))
        return json_null();
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
    return json_sprintf("%s.%03dZ", text, (int)(ms % 1000));
}

/* Cleans a name that is not UTF-8, which JSON cannot hold. */
static json_t *name_value(const char *name)
{
    json_t *value = json_string(name);
    char *clean;

    if (value)
        return value;
    clean = text_clean(name);
    value = json_string(clean);
    free(clean);
    return value;
}

static json_t *text_or_null(const char *text)
{
    return *text ? name_value(text) : json_null();
}

static json_t *number_or_null(int64_t number)
{
    return number ? json_integer(number) : json_null();
}

static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

static json_t *contender_object(const struct view_contender *contender)
{
    const struct contender *told = &contender->told;
    json_t *object = json_object();

    set(object, "node", name_value(contender->path));
    set(object, "kind", json_string(describe_kind_word(contender->kind)));
    set(object, "holds", json_boolean(contender->holds));
    set(object, "since", time_or_null(contender->since_ms));
    set(object, "created", time_or_null(contender->ctime_ms));
    set(object, "until", time_or_null(contender->until_ms));
    set(object, "user", text_or_null(told->user));
    set(object, "host", text_or_null(told->host));
    set(object, "pid", number_or_null(told->pid));
    set(object, "command", text_or_null(told->command));
    set(object, "version", text_or_null(told->version));
    set(object, "address", text_or_null(told->address));
    set(object, "session",
        contender->session ? json_sprintf("0x%" PRIx64, contender->session) : json_null());
    set(object, "token", number_or_null(contender->czxid));
    return object;
}

/* Null if the lock could not be read, as all that counts contenders. */
static json_t *count_or_null(const struct view *view, size_t count)
{
    return view->unread ? json_null() : json_integer((json_int_t)count);
}

static json_t *contenders_or_null(const struct view *view, size_t from, size_t to)
{
    json_t *array = view->unread ? json_null() : json_array();

    for (size_t i = from; i < to; i++)
        json_array_append_new(array, contender_object(&view->contenders[i]));
    return array;
}

static void set_name(const struct list *list, json_t *object, const char *path)
{
    char *name = list_name(list->options, path);

    set(object, "name", name_value(name));
    set(object, "path", name_value(path));
    free(name);
}

static json_t *lock_object(const struct list *list, const struct view *view)
{
    json_t *object = json_object();

    set_name(list, object, view->path);
    set(object, "exists", json_boolean(view->exists));
    set(object, "state", json_string(describe_state(view, "unknown")));
    set(object, "kind",
        view->kind_known ? json_string(describe_kind_word(view->kind)) : json_null());
    set(object, "permits", number_or_null(view->permits));
    set(object, "lease_ms", number_or_null(view->lease_ms));
    set(object, "vanished",
        view_knows_vanished(view) ? count_or_null(view, view->vanished) : json_null());
    set(object, "until", time_or_null(view->until_ms));
    set(object, "last_success", time_or_null(view->success_ms));
    set(object, "holders", contenders_or_null(view, 0, view->holders));
    set(object, "waiting", contenders_or_null(view, view->holders, view->len));
    return object;
}

/* Prints it, escaped to ASCII, so that it cannot change a terminal; frees it. */
static int dump(json_t *root, size_t flags)
{
    int failed = json_dumpf(root, stdout, flags | JSON_ENSURE_ASCII);

    json_decref(root);
    if (failed && !ferror(stdout)) {
        log_error("out of memory");
        return EXITCODE_OSERR;
    }
    putchar('\n');
    return text_flush();
}

int list_json(const struct list *list, const struct view *views, size_t count)
{
    json_t *root = json_object();
    json_t *locks = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(locks, lock_object(list, &views[i]));
    set(root, "format", json_integer(FORMAT));
    set(root, "time", time_or_null(text_now()));
    set(root, "locks", locks);
    return dump(root, JSON_INDENT(2));
}

int list_json_change(const struct list *list, const struct change *change)
{
    const struct view *view = change->view;
    json_t *root = json_object();

    set(root, "format", json_integer(FORMAT));
    set(root, "time", time_or_null(text_now()));
    set(root, "event", json_string(list_change_word(change->kind)));
    set_name(list, root, view->path);
    set(root, "state", json_string(describe_state(view, "unknown")));
    set(root, "holders", count_or_null(view, view->holders));
    set(root, "waiting", count_or_null(view, view->len - view->holders));
    set(root, "contender", change->contender ? contender_object(change->contender) : json_null());
    return dump(root, JSON_COMPACT);
}
