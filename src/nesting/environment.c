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
#include "ensemble/access.h"
#include "ensemble/servers.h"
#include "process/around.h"

/* How long to wait for a reader of the environment: no longer than a proof may be late. */
enum { READER_PATIENCE_MS = 500 };

/* What a hold exports, besides ZKFLOCK_HELD. */
static const char *const variables[] = {
    "ZKFLOCK_LOCK",         "ZKFLOCK_NODE",       "ZKFLOCK_TOKEN",
    SERVERS_VARIABLE,       AUTH_FILE_VARIABLE,   ACCESS_TLS_VARIABLE,
    ACCESS_CACERT_VARIABLE, ACCESS_CERT_VARIABLE, ACCESS_KEY_VARIABLE,
};

/* From this one on they are what the command's environment would have. */
enum { FROM_ENVIRONMENT = 3 };

enum { VARIABLES = sizeof(variables) / sizeof(variables[0]) };

enum { NUMBER_SIZE = 24 }; /* of a token, as text */

/* Whether the caller has set each of them. */
static bool found[VARIABLES];

/* ---- what is printed ---- */

/* Quotes the value: in single quotes only a quote is special to a shell.  NULL: unset. */
static void print_variable(FILE *out, const char *name, const char *value)
{
    if (!value) {
        fprintf(out, "unset %s\n", name);
        return;
    }
    fprintf(out, "export %s='", name);
    for (; *value; value++) {
        if (*value == '\'')
            fputs("'\\''", out);
        else
            putc(*value, out);
    }
    fputs("'\n", out);
}

static void print_change(FILE *out, const char *name, bool is_set, const char *value)
{
    if (is_set || value)
        print_variable(out, name, value);
}

/*
 * Returns 0 or errno; ETIMEDOUT if nobody reads.  It must not block for ever: the lock is held, and
 * the client library's threads would go on to hold it.
 */
static int write_out(const char *text, size_t len)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    while (len > 0) {
        if (poll(&out, 1, READER_PATIENCE_MS) != 1)
            return ETIMEDOUT;

        /* A pipe that takes anything takes that much at once. */
        ssize_t written = write(STDOUT_FILENO, text, len < PIPE_BUF ? len : PIPE_BUF);

        if (written < 0)
            return errno;
        text += written;
        len -= (size_t)written;
    }
    return 0;
}

/* Returns 0 or errno. */
static int close_and_write(FILE *out, char *const *text, const size_t *len)
{
    int error = fclose(out) == 0 ? write_out(*text, *len) : errno;

    free(*text);
    return error;
}

static const char *reason(int error)
{
    return error == ETIMEDOUT ? "nobody reads it" : strerror(error);
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
    char *text = xcalloc(value ? 3 * strlen(value) + 1 : sizeof("-"), 1);
    char *end = text;

    if (!value)
        *end = '-';
    for (; value && *value; value++) {
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
        found[i] = (values[i] = getenv(variables[i]));
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
 * Prints the environment without the record of that name: if that is the last one, the variables
 * get the values of the record before it.
 */
static void print_without(FILE *out, const char *name)
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
            print_change(out, variables[i], getenv(variables[i]), decode(strsep(&values, " ")));
    }
    print_variable(out, AROUND_EXPORTED_VARIABLE, is_held ? kept : NULL);
    free(last);
    free(kept);
    free(copy);
}

/* ---- the calls ---- */

/* The values of the variables within the lock; number has room for the token's, and stays with
 * them. */
static void find_values(const char *values[VARIABLES], const char *lock, const char *node,
                        int64_t token, char number[NUMBER_SIZE])
{
    snprintf(number, NUMBER_SIZE, "%" PRId64, token);
    values[0] = lock;
    values[1] = node;
    values[2] = number;
    for (int i = FROM_ENVIRONMENT; i < VARIABLES; i++)
        values[i] = getenv(variables[i]);
}

bool environment_print(const char *exported, const char *lock, const char *node, int64_t token,
                       const char *held)
{
    char number[NUMBER_SIZE];
    const char *values[VARIABLES];
    char *all = around_with(held);
    char *record;
    char *records;
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    int error = errno;

    find_values(values, lock, node, token, number);
    record = make_record(held, values);
    records = xasprintf("%s;%s", exported, record);
    if (out) {
        for (int i = 0; i < VARIABLES; i++)
            print_change(out, variables[i], found[i], values[i]);
        print_variable(out, AROUND_VARIABLE, all);
        print_variable(out, AROUND_EXPORTED_VARIABLE, records);
        error = close_and_write(out, &text, &len);
    }
    free(records);
    free(record);
    free(all);
    if (error)
        log_error("cannot print the environment of %s: %s; it is released", lock, reason(error));
    return !error;
}

char *environment_for_command(const char *lock, const char *node, int64_t token, const char *held,
                              size_t *len)
{
    char number[NUMBER_SIZE];
    const char *values[VARIABLES];
    char *all = held ? around_with(held) : NULL;
    char *text;
    FILE *out = open_memstream(&text, len);

    find_values(values, lock, node, token, number);
    for (int i = 0; out && i < VARIABLES; i++)
        fprintf(out, "%s%s%s%c", variables[i], values[i] ? "=" : "", values[i] ? values[i] : "", 0);
    if (out && all)
        fprintf(out, AROUND_VARIABLE "=%s%c", all, 0);
    if (out)
        fprintf(out, AROUND_EXPORTED_VARIABLE "%c", 0);
    free(all);
    return out && fclose(out) == 0 ? text : NULL;
}

bool environment_take_back(const char *lock, const char *name)
{
    char *others = around_without(name);
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    int error = errno;

    if (out) {
        print_without(out, name);
        print_variable(out, AROUND_VARIABLE, others);
        error = close_and_write(out, &text, &len);
    }
    free(others);
    if (error)
        log_error("%s was released, but its environment cannot be printed: %s", lock,
                  reason(error));
    return !error;
}

void environment_print_failure(int status)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "(exit %d)\n", status);

    write_out(text, (size_t)len); /* if that fails, the exit status still tells */
}
