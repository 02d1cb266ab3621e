#include "base/log_line.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

static const struct {
    const char *name; /* in JSON */
    const char *prefix;
    int priority;
} severities[] = {
    [LOG_SEVERITY_ERROR] = {"error", "", LOG_ERR},
    [LOG_SEVERITY_WARNING] = {"warning", "warning: ", LOG_WARNING},
    [LOG_SEVERITY_NOTICE] = {"notice", "", LOG_NOTICE},
    [LOG_SEVERITY_INFO] = {"info", "", LOG_INFO},
    [LOG_SEVERITY_DEBUG] = {"debug", "", LOG_DEBUG},
};

/* ---- text ---- */

/* Returns whether the character is invisible, and joins, hides or reverses others. */
static bool changes_others(uint32_t c)
{
    return c == 0xad || c == 0x61c || c == 0xfeff || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c >= 0xe0000;
}

/* Returns the length of the first character of text, 0 if it cannot be printed. */
static size_t printable_length(const unsigned char *text)
{
    static const uint32_t least[] = {0, 0x20, 0xa0, 0x800, 0x10000};
    uint32_t c = text[0];
    size_t len = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;

    if (len > 1)
        c &= 0x7fU >> len;
    for (size_t i = 1; i < len; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (text[i] & 0x3f);
    }
    if (c < least[len] || c == 0x7f || (c >= 0xd800 && c < 0xe000) || changes_others(c))
        return 0;
    return len;
}

size_t log_line_printable(char *out, size_t size, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t len = 0;

    while (*p) {
        size_t character = printable_length(p);

        if (len + (character ? character : 4) >= size)
            break;
        if (character) {
            memcpy(out + len, p, character);
            len += character;
            p += character;
        } else {
            len += (size_t)snprintf(out + len, size - len, "\\x%02x", *p++);
        }
    }
    out[len] = '\0';
    return len;
}

static const char *format_session(int64_t session, char text[24])
{
    snprintf(text, 24, "0x%" PRIx64, (uint64_t)session);
    return text;
}

/* Returns "[LOCK SESSION]", or as much of it as there is. */
static const char *format_tag(const struct log_line *line, char tag[LOG_LINE_SIZE])
{
    char session[24];

    if (!line->lock && !line->session)
        return "";
    snprintf(tag, LOG_LINE_SIZE, "[%s%s%s]", line->lock ? line->lock : "",
             line->lock && line->session ? " " : "",
             line->session ? format_session(line->session, session) : "");
    return tag;
}

/* Writes all that a person reads of a line behind head. */
static size_t write_text(const struct log_line *line, const char *head, const char *tag,
                         const char *separator, char out[LOG_LINE_SIZE])
{
    char text[LOG_LINE_SIZE];

    snprintf(text, sizeof(text), "%s%s%s%s%s%s%s", head, tag, separator,
             severities[line->severity].prefix, line->place ? line->place : "",
             line->place ? ": " : "", line->message);
    return log_line_printable(out, LOG_LINE_SIZE, text);
}

size_t log_line_text(const struct log_line *line, bool tagged, char out[LOG_LINE_SIZE])
{
    char tag[LOG_LINE_SIZE];

    return write_text(line, "zkflock", tagged ? format_tag(line, tag) : "", ": ", out);
}

/* ---- JSON ---- */

static void set_text(json_t *object, const char *name, const char *text)
{
    char printable[LOG_LINE_SIZE];

    if (!text)
        return;
    log_line_printable(printable, sizeof(printable), text);
    json_object_set_new(object, name, json_string(printable));
}

static void set_time(json_t *object, const struct timespec *time)
{
    char text[40];
    struct tm tm;
    size_t len = gmtime_r(&time->tv_sec, &tm) ? strftime(text, sizeof(text), "%FT%T", &tm) : 0;

    if (!len)
        return;
    snprintf(text + len, sizeof(text) - len, ".%03dZ", (int)(time->tv_nsec / 1000000));
    json_object_set_new(object, "time", json_string(text));
}

static void set_fields(json_t *object, const struct log_field *field)
{
    for (; field && field->type != LOG_END; field++) {
        int64_t ms = field->number / 1000000; /* of a span */

        if (field->type == LOG_TEXT)
            set_text(object, field->name, field->text);
        else if (field->type == LOG_NUMBER)
            json_object_set_new(object, field->name, json_integer(field->number));
        else
            json_object_set_new(object, field->name, json_real((double)ms / 1000));
    }
}

static json_t *make_object(const struct log_line *line)
{
    json_t *object = json_object();
    char session[24];

    set_time(object, &line->time);
    set_text(object, "level", severities[line->severity].name);
    set_text(object, "event", line->event);
    set_text(object, "source", line->source);
    json_object_set_new(object, "pid", json_integer(line->pid));
    set_text(object, "lock", line->lock);
    if (line->session)
        set_text(object, "session", format_session(line->session, session));
    set_fields(object, line->fields);
    set_text(object, "place", line->place);
    return object;
}

/* With as much of the message as there is room for; returns the length, 0 if there is none. */
static size_t write_object(json_t *object, const char *message, char *out, size_t size)
{
    const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(12);
    char text[LOG_LINE_SIZE];
    size_t text_len = log_line_printable(text, sizeof(text), message);

    for (;;) {
        json_object_set_new(object, "message", json_string(text));

        size_t len = json_dumpb(object, out, size, flags);

        if (len <= size)
            return len;
        if (text_len == 0)
            return 0;
        /* Cut what is too much, at the border of a character. */
        text_len = len - size < text_len ? text_len - (len - size) : 0;
        while (text_len && (text[text_len] & 0xc0) == 0x80)
            text_len--;
        text[text_len] = '\0';
    }
}

size_t log_line_json(const struct log_line *line, char out[LOG_LINE_SIZE])
{
    struct log_line bare = *line;
    size_t len = 0;

    /* Two paths that are all quotes may leave no room for the fields, but do for the rest. */
    for (bare.fields = line->fields; len == 0; bare.fields = NULL) {
        json_t *object = make_object(&bare);

        len = write_object(object, line->message, out, LOG_LINE_SIZE - 1);
        json_decref(object);
        if (!bare.fields)
            break;
    }
    return len ? len : log_line_text(line, true, out); /* without memory */
}

/* ---- the system's log ---- */

size_t log_line_system(const struct log_line *line, enum log_format format,
                       char out[LOG_LINE_SYSTEM_SIZE])
{
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    char text[LOG_LINE_SIZE];
    struct tm tm = {0};
    size_t head;

    localtime_r(&line->time.tv_sec, &tm);
    head = (size_t)snprintf(out, LOG_LINE_SYSTEM_SIZE, "<%d>%s %2d %02d:%02d:%02d zkflock[%d]: ",
                            LOG_USER | severities[line->severity].priority, months[tm.tm_mon],
                            tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)line->pid);
    if (format == LOG_FORMAT_JSON)
        return head + log_line_json(line, out + head);

    const char *tag = format_tag(line, text);

    return head + write_text(line, "", tag, *tag ? " " : "", out + head);
}
