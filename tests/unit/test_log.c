/* Lines of the log. */
#include <jansson.h>
#include <string.h>

#include "base/log_line.h"
#include "unit.h"

static void test_log_printable(void)
{
    static const struct {
        const char *text;
        const char *printable;
    } cases[] = {
        {"plain, \xd0\xba\xe9\x8d\xb5\xf0\x9f\x94\x92",
         "plain, \xd0\xba\xe9\x8d\xb5\xf0\x9f\x94\x92"},
        {"\x1b[1m\n\x7f", "\\x1b[1m\\x0a\\x7f"},
        {"\xc2\x9b|\xc2\xa0", "\\xc2\\x9b|\xc2\xa0"}, /* C1; a blank that does not break */
        {"\xff\xc3|\xe9\x8d|\x80", "\\xff\\xc3|\\xe9\\x8d|\\x80"}, /* no UTF-8, or cut off */
        {"\xc0\xaf|\xe0\x80\xaf", "\\xc0\\xaf|\\xe0\\x80\\xaf"},   /* too long a form */
        {"\xed\xa0\x80|\xf4\x90\x80\x80", "\\xed\\xa0\\x80|\\xf4\\x90\\x80\\x80"},
    };
    char out[64];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t len = log_line_printable(out, sizeof(out), cases[i].text);

        CHECK(cases[i].printable, strcmp(out, cases[i].printable) == 0 && len == strlen(out));
    }
    CHECK("whole characters", log_line_printable(out, 4, "ab\xd0\xba") == 2);
    CHECK("whole escapes", log_line_printable(out, 6, "ab\x01") == 2);
}

/* Whatever is said of whichever lock: one object, in the room of one write. */
static void test_fuzzed_log(void)
{
    static const char alphabet[] = "a\"\\\n\x1b\xc2\x9b\xd0\xba\xf0\x9f\x94\x92\xff";
    char message[2 * LOG_LINE_SIZE];
    char lock[1025] = "/";
    char out[LOG_LINE_SYSTEM_SIZE];

    for (int round = 0; round < 2000; round++) {
        size_t message_len = fuzz_below(sizeof(message));
        size_t lock_len = fuzz_below(sizeof(lock));
        const struct log_field fields[] = {{"node", LOG_TEXT, .text = lock},
                                           {"waited_s", LOG_SPAN, .number = fuzz_below(1000000000)},
                                           {0}};
        const struct log_line line = {.event = "acquired",
                                      .fields = fields,
                                      .lock = lock,
                                      .session = fuzz_below(1000000),
                                      .message = message,
                                      .pid = 1};

        for (size_t i = 0; i < message_len; i++)
            message[i] = alphabet[fuzz_below(sizeof(alphabet) - 1)];
        message[message_len] = '\0';
        for (size_t i = 1; i < lock_len; i++)
            lock[i] = "ab\"\\"[fuzz_below(4)];
        lock[lock_len ? lock_len : 1] = '\0';

        size_t len = log_line_json(&line, out);
        json_t *object = json_loadb(out, len, 0, NULL);

        CHECK(lock, len < LOG_LINE_SIZE && json_is_object(object));
        CHECK(lock, strcmp(json_string_value(json_object_get(object, "lock")), lock) == 0);
        json_decref(object);
        CHECK(lock, log_line_text(&line, true, out) < LOG_LINE_SIZE);
        CHECK(lock, log_line_system(&line, LOG_FORMAT_TEXT, out) < sizeof(out));
        CHECK(lock, log_line_system(&line, LOG_FORMAT_JSON, out) < sizeof(out));
    }
}

void unit_log(void)
{
    test_log_printable();
    test_fuzzed_log();
}
