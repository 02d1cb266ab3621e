#include "config/values.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "lock/lockname.h"

#define PERMITS_MAX 1000000
#define RETRIES_MAX 1000000
#define LIMIT_MAX (CLOCK_S * 86400 * 1000)

const char *const values_log_levels[] = {[LOG_LEVEL_ERROR] = "error",
                                         [LOG_LEVEL_WARNING] = "warning",
                                         [LOG_LEVEL_INFO] = "info",
                                         [LOG_LEVEL_DEBUG] = "debug"};

int values_wait(struct options *options, const char *name, const char *text)
{
    if (clock_parse(text, &options->wait))
        return 0;
    log_error("%s takes a time such as 10, 0.5, 500ms or 5m, not '%s'", name, text);
    return EXITCODE_USAGE;
}

/* Digits alone: strtol(3) would take blanks and signs too. */
static bool parse_number(const char *text, long least, long most, int *number)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || value < least || value > most)
        return false;
    *number = (int)value;
    return true;
}

int values_status(const char *name, const char *text, int *status)
{
    if (!parse_number(text, 0, 255, status)) {
        log_error("%s takes an exit status from 0 to 255, not '%s'", name, text);
        return EXITCODE_USAGE;
    }
    return 0;
}

int values_bounded(const char *name, const char *text, int64_t least, int64_t most, int64_t *span)
{
    char a[CLOCK_FORMAT_SIZE];
    char b[CLOCK_FORMAT_SIZE];

    if (clock_parse(text, span) && *span >= least && *span <= most)
        return 0;
    log_error("%s takes a time from %s to %s, not '%s'", name, clock_format(least, a),
              clock_format(most, b), text);
    return EXITCODE_USAGE;
}

int values_limit(const char *name, const char *text, int64_t *limit)
{
    /* What is written as more than 0 is a limit: it must not become none by rounding. */
    int64_t least = strpbrk(text, "123456789") ? 1 : 0;
    int status = values_bounded(name, text, least, LIMIT_MAX, limit);

    if (*limit == 0) /* as timeout(1) has it */
        *limit = CLOCK_NEVER;
    return status;
}

int values_session_timeout(struct options *options, const char *name, const char *text)
{
    int64_t span = 0;
    int status = values_bounded(name, text, CLOCK_S, 3600 * CLOCK_S, &span);

    options->session_timeout_ms = (int)(span / CLOCK_MS);
    return status;
}

int values_signal(struct options *options, const char *name, const char *text)
{
    const char *wanted = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
    char *end;
    long number = strtol(text, &end, 10);

    for (int i = 1; i < NSIG; i++) {
        const char *known = sigabbrev_np(i);

        if ((known && strcasecmp(known, wanted) == 0) || (*text && !*end && number == i)) {
            options->signal = i;
            return 0;
        }
    }
    log_error("%s takes a signal such as TERM, INT or 15, not '%s'", name, text);
    return EXITCODE_USAGE;
}

int values_pid(struct options *options, const char *name, const char *text)
{
    if (!parse_number(text, 1, INT_MAX, &options->hold_for)) {
        log_error("%s takes the number of a process, not '%s'", name, text);
        return EXITCODE_USAGE;
    }
    return 0;
}

static int take_number(const char *name, const char *text, int least, int most, int *number)
{
    if (!parse_number(text, least, most, number)) {
        log_error("%s takes a number from %d to %d, not '%s'", name, least, most, text);
        return EXITCODE_USAGE;
    }
    return 0;
}

int values_retries(struct options *options, const char *name, const char *text)
{
    return take_number(name, text, 0, RETRIES_MAX, &options->retries);
}

int values_permits(struct options *options, const char *name, const char *text)
{
    return take_number(name, text, 1, PERMITS_MAX, &options->permits);
}

int values_on_lost(struct options *options, const char *name, const char *text)
{
    static const char *const names[] = {
        [LEASE_KILL] = "kill", [LEASE_TERM] = "term", [LEASE_WARN] = "warn"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) == 0) {
            options->on_lost = (enum lease_on_lost)i;
            return 0;
        }
    }
    log_error("%s takes kill, term or warn, not '%s'", name, text);
    return EXITCODE_USAGE;
}

int values_log_format(struct options *options, const char *name, const char *text)
{
    if (strcmp(text, "text") != 0 && strcmp(text, "json") != 0) {
        log_error("%s takes text or json, not '%s'", name, text);
        return EXITCODE_USAGE;
    }
    options->log_format = *text == 'j' ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT;
    return 0;
}

/* Without a text it is the option of the command line. */
int values_flag(const char *name, const char *text, bool *flag)
{
    if (text && strcmp(text, "yes") != 0 && strcmp(text, "no") != 0) {
        log_error("%s takes yes or no, not '%s'", name, text);
        return EXITCODE_USAGE;
    }
    *flag = !text || *text == 'y';
    return 0;
}

int values_kind(struct options *options, const char *name, const char *text)
{
    if (strcmp(text, "exclusive") == 0) {
        options->kind = NAMING_WRITER;
    } else if (strcmp(text, "shared") == 0) {
        options->kind = NAMING_READER;
    } else if (strcmp(text, "unfair") == 0) {
        options->unfair = true;
    } else {
        log_error("%s takes exclusive, shared or unfair, not '%s'", name, text);
        return EXITCODE_USAGE;
    }
    return 0;
}

int values_log_level(struct options *options, const char *name, const char *text)
{
    for (int i = 0; i <= LOG_LEVEL_DEBUG; i++) {
        if (strcmp(text, values_log_levels[i]) == 0) {
            options->log_level = (enum log_level)i;
            return 0;
        }
    }
    log_error("%s takes error, warning, info or debug, not '%s'", name, text);
    return EXITCODE_USAGE;
}

int values_node_style(struct options *options, const char *name, const char *text)
{
    const char *wrong = NULL;

    if (!naming_parse(text, &options->naming)) {
        log_error("%s takes curator, kazoo or plain:PREFIX, not '%s'", name, text);
        return EXITCODE_USAGE;
    }
    if (options->naming.style == NAMING_PLAIN)
        wrong = lockname_prefix_fault(options->naming.prefix);
    if (wrong) {
        log_error("the PREFIX '%s' of %s %s", options->naming.prefix, name, wrong);
        return EXITCODE_USAGE;
    }
    return 0;
}
