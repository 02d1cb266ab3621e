#include "base/text.h"

#include <errno.h>
#include <langinfo.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#include "base/exitcode.h"
#include "base/log.h"
#include "base/xalloc.h"

/* Returns the length of the next character, 0 at the end; *width is 0 if it cannot be seen. */
static size_t next(const char *text, size_t *width)
{
    mbstate_t state = {0};
    wchar_t c;
    size_t len = mbrtowc(&c, text, strlen(text), &state);

    *width = 0;
    if (!*text)
        return 0;
    if (len == (size_t)-1 || len == (size_t)-2)
        return 1;

    /* Characters without a width may join, hide or reverse others. */
    int columns = wcwidth(c);

    if (columns > 0)
        *width = (size_t)columns;
    return len;
}

char *text_clean(const char *raw)
{
    char *clean = xcalloc(strlen(raw) + 1, 1);
    size_t to = 0;
    size_t width;
    size_t len;

    for (; (len = next(raw, &width)); raw += len) {
        if (width) {
            memcpy(clean + to, raw, len);
            to += len;
        } else {
            clean[to++] = '?';
        }
    }
    return clean;
}

size_t text_width(const char *clean)
{
    size_t sum = 0;
    size_t width;
    size_t len;

    for (; (len = next(clean, &width)); clean += len)
        sum += width;
    return sum;
}

void text_put(FILE *out, const char *clean, enum text_style style, bool colours)
{
    static const char *const codes[] = {[TEXT_BOLD] = "1",
                                        [TEXT_DIM] = "2",
                                        [TEXT_GOOD] = "32",
                                        [TEXT_BUSY] = "33",
                                        [TEXT_BAD] = "31"};

    if (colours && codes[style] && *clean)
        fprintf(out, "\033[%sm%s\033[0m", codes[style], clean);
    else
        fputs(clean, out);
}

char *text_cut(const char *clean, size_t width)
{
    bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    const char *ellipsis = utf8 ? "\u2026" : "...";
    size_t room = utf8 ? 1 : 3;
    const char *end = clean;
    size_t sum = 0;
    size_t columns;
    size_t len;

    if (text_width(clean) <= width)
        return xstrdup(clean);
    if (width <= room)
        ellipsis = "", room = 0;
    for (; (len = next(end, &columns)) && sum + columns + room <= width; end += len)
        sum += columns;
    return xasprintf("%.*s%s", (int)(end - clean), clean, ellipsis);
}

const char *text_clock(int64_t ms, char buf[TEXT_TIME_SIZE])
{
    time_t when = (time_t)(ms / 1000);
    time_t now = time(NULL);
    struct tm then_tm;
    struct tm now_tm;

    if (!localtime_r(&when, &then_tm) || !localtime_r(&now, &now_tm))
        return "?";
    strftime(buf, TEXT_TIME_SIZE,
             then_tm.tm_yday == now_tm.tm_yday && then_tm.tm_year == now_tm.tm_year ? "%H:%M:%S"
                                                                                    : "%F %H:%M:%S",
             &then_tm);
    return buf;
}

int64_t text_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

char *text_trim(char *text)
{
    size_t len;

    text += strspn(text, " \t");
    len = strlen(text);
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
        len--;
    text[len] = '\0';
    return text;
}

int text_flush(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    if (errno == EPIPE)
        return EXITCODE_SIGNAL + SIGPIPE;
    return log_failure(EXITCODE_OSERR, "cannot write to stdout: %s", strerror(errno));
}
