#include "nesting/environment.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "ensemble/servers.h"
#include "process/around.h"

/* How long to wait for a reader of the environment: no longer than a proof may be late. */
enum { READER_PATIENCE_MS = 500 };

/* What a hold exports, besides ZKFLOCK_HELD. */
static const char *const variables[] = {"ZKFLOCK_LOCK", "ZKFLOCK_NODE", "ZKFLOCK_TOKEN",
                                        SERVERS_VARIABLE};

enum { VARIABLES = sizeof(variables) / sizeof(variables[0]) };

/* ---- what is printed ---- */

/* Adds a variable to a script.  In single quotes only a quote is special to a shell.  NULL: unset.
 */
static void add_variable(char **script, const char *name, const char *value)
{
    if (!value) {
        xreplace(script, xasprintf("%sunset %s\n", *script, name));
        return;
    }
    xreplace(script, xasprintf("%sexport %s='", *script, name));
    for (size_t len = strcspn(value, "'"); value[len]; len = strcspn(value, "'")) {
        xreplace(script, xasprintf("%s%.*s'\\''", *script, (int)len, value));
        value += len + 1;
    }
    xreplace(script, xasprintf("%s%s'\n", *script, value));
}

/*
 * Writes to stdout.  Returns why that failed, NULL if it did not.  It must not block for ever: the
 * lock is held, and the client library's threads would go on to hold it.
 */
static const char *write_out(const char *text)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    for (size_t len = strlen(text); len > 0;) {
        if (poll(&out, 1, READER_PATIENCE_MS) != 1)
            return "nobody reads it";

        /* A pipe that takes anything takes that much at once. */
        ssize_t written = write(STDOUT_FILENO, text, len < PIPE_BUF ? len : PIPE_BUF);

        if (written < 0)
            return strerror(errno);
        text += written;
        len -= (size_t)written;
    }
    return NULL;
}

/* ---- ZKFLOCK_EXPORTED ---- */

/*
 * Records, separated by ";": one for the environment before the first hold, then one for each hold,
 * the latest last.  If somebody has set a variable between two holds, there is one for that, too.
 *
 * A record is the name of the hold's socket, "-" if it is not a hold's, and the values of the
 * variables, separated by blanks.  Values are encoded, and "-" is a variable that is not set.
 */

/* Returns the encoded value, to be freed. */
static char *encode(const char *value)
{
    if (!value)
        return xstrdup("-");

    char *text = xcalloc(3 * strlen(value) + 1, 1);
    char *end = text;

    for (; *value; value++) {
        if (isalnum((unsigned char)*value) || strchr("/:._,", *value))
            *end++ = *value;
        else
            end += sprintf(end, "%%%02x", (unsigned char)*value);
    }
    return text;
}

/* Decodes in place.  Returns the value; NULL: it is not set. */
static const char *decode(char *text)
{
    char *end = text;

    if (!text || strcmp(text, "-") == 0)
        return NULL;
    for (char *from = text; *from; from++) {
        char digits[3] = "";

        if (*from == '%') {
            memccpy(digits, from + 1, 0, 2);
            from += strlen(digits);
            *end++ = (char)strtol(digits, NULL, 16);
        } else {
            *end++ = *from;
        }
    }
    *end = '\0';
    return text;
}

/* Returns a record, to be freed. */
static char *make_record(const char *name, const char *const values[VARIABLES])
{
    char *record = xstrdup(name);

    for (int i = 0; i < VARIABLES; i++) {
        char *value = encode(values[i]);

        xreplace(&record, xasprintf("%s %s", record, value));
        free(value);
    }
    return record;
}

char *environment_exported(void)
{
    const char *exported = getenv(AROUND_EXPORTED_VARIABLE);
    const char *values[VARIABLES];
    const char *last;
    char *now;

    for (int i = 0; i < VARIABLES; i++)
        values[i] = getenv(variables[i]);
    now = make_record("-", values);
    if (!exported || !*exported)
        return now;
    last = strrchr(exported, ';');
    last = strchr(last ? last : exported, ' ');
    /* Somebody may have set variables since. */
    if (last && strcmp(last, strchr(now, ' ')) == 0)
        xreplace(&now, xstrdup(exported));
    else
        xreplace(&now, xasprintf("%s;%s", exported, now));
    return now;
}

/*
 * Adds the environment without the record of that name to a script: if that is the last one, the
 * variables get the values of the record before it.
 */
static void add_without(char **script, const char *name)
{
    const char *exported = getenv(AROUND_EXPORTED_VARIABLE);
    char *copy = xstrdup(exported ? exported : "");
    char *rest = copy;
    char *kept = NULL;
    char *last = xstrdup("");
    bool was_last = false;
    bool is_held = false;

    while (rest) {
        char *record = strsep(&rest, ";");

        was_last = strlen(name) == strcspn(record, " ") && strncmp(record, name, strlen(name)) == 0;
        if (was_last)
            continue;
        xreplace(&kept, kept ? xasprintf("%s;%s", kept, record) : xstrdup(record));
        xreplace(&last, xstrdup(record));
        is_held |= record[0] != '-';
    }
    if (was_last) {
        char *values = last;

        strsep(&values, " ");
        for (int i = 0; i < VARIABLES; i++)
            add_variable(script, variables[i], decode(strsep(&values, " ")));
    }
    add_variable(script, AROUND_EXPORTED_VARIABLE, is_held ? kept : NULL);
    free(last);
    free(kept);
    free(copy);
}

/* ---- the calls ---- */

bool environment_print(const char *exported, const char *lock, const char *node, int64_t token,
                       const char *held)
{
    char number[24];
    const char *const values[VARIABLES] = {lock, node, number, getenv(SERVERS_VARIABLE)};
    char *records;
    char *script = xstrdup("");
    const char *trouble = around_add(held) < 0 ? strerror(errno) : NULL;

    snprintf(number, sizeof(number), "%" PRId64, token);
    records = make_record(held, values);
    xreplace(&records, xasprintf("%s;%s", exported, records));
    for (int i = 0; i < VARIABLES; i++)
        add_variable(&script, variables[i], values[i]);
    add_variable(&script, AROUND_VARIABLE, getenv(AROUND_VARIABLE));
    add_variable(&script, AROUND_EXPORTED_VARIABLE, records);
    if (!trouble)
        trouble = write_out(script);
    free(script);
    free(records);
    if (trouble)
        log_error("cannot print the environment of %s: %s; it is released", lock, trouble);
    return !trouble;
}

/* Returns ZKFLOCK_HELD without name, to be freed; NULL: nothing is left. */
static char *held_without(const char *name)
{
    const char *held = getenv(AROUND_VARIABLE);
    char *copy = xstrdup(held ? held : "");
    char *rest = copy;
    char *others = NULL;

    while (rest) {
        const char *one = strsep(&rest, " ");

        if (*one && strcmp(one, name) != 0)
            xreplace(&others, others ? xasprintf("%s %s", others, one) : xstrdup(one));
    }
    free(copy);
    return others;
}

bool environment_take_back(const char *lock, const char *name)
{
    char *others = held_without(name);
    char *script = xstrdup("");
    const char *trouble;

    add_without(&script, name);
    add_variable(&script, AROUND_VARIABLE, others);
    trouble = write_out(script);
    free(script);
    free(others);
    if (trouble)
        log_error("%s was released, but its environment cannot be printed: %s", lock, trouble);
    return !trouble;
}

void environment_print_failure(int status)
{
    char text[32];

    snprintf(text, sizeof(text), "(exit %d)\n", status);
    write_out(text); /* if that fails, the exit status still tells */
}
