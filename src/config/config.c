#include "config/config.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/log.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "config/option_table.h"
#include "config/resolve.h"
#include "config/values.h"

/* A limit for lines, which leaves room for every value that makes sense. */
enum { LINE_SIZE = 65536 };

/* The file that is being read, and how far. */
struct reader {
    struct settings *settings;
    bool is_system;
    const char *file;
    char *place; /* FILE:LINE */
    char *lock;  /* the NAME of the section; NULL: it is [zkflock] */
    bool in_section;
    int status; /* of the last pair */
};

/* ---- key = value ---- */

static const struct setting *given_already(const struct reader *reader, const struct setting *now)
{
    for (size_t i = 0; i < reader->settings->len; i++) {
        const struct setting *setting = &reader->settings->list[i];

        if (setting->level == now->level && setting->row == now->row &&
            (!now->lock || strcmp(setting->lock, now->lock) == 0))
            return setting;
    }
    return NULL;
}

static enum settings_level level_of(const struct reader *reader)
{
    if (reader->lock)
        return reader->is_system ? SETTINGS_SYSTEM_LOCK : SETTINGS_USER_LOCK;
    return reader->is_system ? SETTINGS_SYSTEM : SETTINGS_USER;
}

/* Returns whether a value is in quotes, which in a line for the shell may be meant. */
static bool is_quoted(const struct option_row *row, const char *value)
{
    size_t len = strlen(value);

    return row->take != values_text && row->take != values_show_command && len > 1 &&
           strchr("\"'", value[0]) && value[len - 1] == value[0];
}

/* Returns whether the '=' is missing in "lease 30s: ..." or "servers zk1:2181". */
static bool is_key_and_value(const char *name)
{
    size_t len = strcspn(name, " \t");
    char *word = xstrndup(name, len);
    bool found = name[len] && option_table_key(word);

    free(word);
    return found;
}

static int take_pair(struct reader *reader, const char *name, const char *value)
{
    const struct option_row *row = option_table_key(name);

    if (!reader->in_section)
        return log_failure(EXITCODE_CONFIG,
                           "'%s' stands before the first section, [zkflock] or [lock NAME]", name);
    if (!row && is_key_and_value(name))
        return log_failure(EXITCODE_CONFIG, "an '=' is missing behind the key in '%s'", name);
    if (!row)
        return log_failure(EXITCODE_CONFIG, "there is no key '%s'; zkflock.conf(5) lists them",
                           name);
    if (row->lock_only && !reader->lock)
        return log_failure(EXITCODE_CONFIG, "%s belongs in a section [lock NAME], not in [zkflock]",
                           name);
    if (is_quoted(row, value))
        return log_failure(EXITCODE_CONFIG, "%s: leave out the quotes around the value", name);

    const struct setting setting = {
        .level = level_of(reader),
        .row = row,
        .name = (char *)name,
        .text = (char *)value,
        .lock = reader->lock,
        .origin = reader->place,
    };
    const struct setting *before = given_already(reader, &setting);

    if (before)
        return log_failure(EXITCODE_CONFIG, "%s stands in this section already, at %s", name,
                           before->origin);
    return resolve_check(settings_add(reader->settings, &setting));
}

/* Takes a pair; inih calls it once for each line with one. */
static int on_pair(void *user, const char *section, const char *name, const char *value)
{
    struct reader *reader = user;

    (void)section;
    reader->status = take_pair(reader, name, value);
    return 1;
}

/* ---- lines ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Cuts off a comment and blanks at the end, as inih does for values. */
static void cut_end(char *line)
{
    size_t len = 0;

    while (line[len] && !(len && is_blank(line[len - 1]) && strchr(";#", line[len])))
        len++;
    while (len && is_blank(line[len - 1]))
        len--;
    line[len] = '\0';
}

/*
 * Takes the line of a section.  inih would keep only the first 49 bytes of its name, and would not
 * report a section without keys.
 */
static int take_section(struct reader *reader, char *line)
{
    static const char lock[] = "lock";
    size_t len;

    cut_end(line);
    len = strlen(line);
    if (line[len - 1] != ']')
        return log_failure(EXITCODE_CONFIG, "the section lacks its closing bracket");
    line[len - 1] = '\0';
    line = text_trim(line + 1);
    reader->in_section = true;
    xreplace(&reader->lock, NULL);
    if (strcmp(line, "zkflock") == 0)
        return 0;
    if (strncmp(line, lock, strlen(lock)) != 0 ||
        (line[strlen(lock)] && !is_blank(line[strlen(lock)])))
        return log_failure(EXITCODE_CONFIG,
                           "there is no section [%s], only [zkflock] and [lock NAME]", line);
    line = text_trim(line + strlen(lock));
    xreplace(&reader->lock, xstrdup(line));
    return values_is_lock(line) ? 0 : EXITCODE_CONFIG;
}

static int take_line(struct reader *reader, char *line)
{
    line += strspn(line, " \t");
    if (*line == '[')
        return take_section(reader, line);
    reader->status = 0;
    if (ini_parse_string(line, on_pair, reader) != 0)
        return log_failure(EXITCODE_CONFIG,
                           "this is neither a [section], nor key = value, nor a comment");
    return reader->status;
}

/* Reads a line without its end; *more says whether there is one.  Returns 0, or the exit status. */
static int read_line(FILE *in, char line[LINE_SIZE], bool *more)
{
    size_t len = 0;
    int c;

    while ((c = getc(in)) != EOF && c != '\n') {
        if (c == '\0')
            return log_failure(EXITCODE_CONFIG, "this line holds a NUL byte");
        if (len == LINE_SIZE - 2)
            return log_failure(EXITCODE_CONFIG, "this line is too long: at most %d bytes",
                               LINE_SIZE - 2);
        line[len++] = (char)c;
    }
    if (ferror(in))
        return log_failure(EXITCODE_CONFIG, "this line cannot be read: %s", strerror(errno));
    if (len && line[len - 1] == '\r')
        len--;
    line[len] = '\0';
    *more = c != EOF || len;
    return 0;
}

static int read_lines(struct reader *reader, FILE *in)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    char *line = xcalloc(LINE_SIZE, 1);
    bool more = true;
    int status = 0;

    for (int number = 1; status == 0 && more; number++) {
        char *text = line;

        xreplace(&reader->place, xasprintf("%s:%d", reader->file, number));
        log_set_place(reader->place);
        status = read_line(in, line, &more);
        if (number == 1 && strncmp(line, byte_order_mark, strlen(byte_order_mark)) == 0)
            text += strlen(byte_order_mark);
        if (status == 0 && more)
            status = take_line(reader, text);
    }
    log_set_place(NULL);
    free(line);
    return status;
}

/* ---- files ---- */

/*
 * Checks that nobody else could have written the file, which may name commands to run.  It has to
 * belong to root or to the user who runs zkflock; the system's file to root or to the owner of
 * /etc, whose number in a user namespace may not be root's.  Nobody but its owner may write it.
 */
static int check_trust(const char *file, const struct stat *st, bool is_system)
{
    struct stat etc;
    uid_t owner = geteuid();

    if (is_system)
        owner = stat("/etc", &etc) == 0 ? etc.st_uid : 0;
    if (st->st_uid != 0 && st->st_uid != owner)
        return log_failure(
            EXITCODE_CONFIG,
            "%s: belongs to uid %u, and is not trusted: it may name commands to run; "
            "give it to %s",
            file, (unsigned int)st->st_uid,
            is_system ? "root" : "root or to the user who runs zkflock, or set HOME (sudo -H)");
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return log_failure(
            EXITCODE_CONFIG,
            "%s: others than its owner may write it, and it is not trusted: it may name "
            "commands to run; chmod go-w",
            file);
    return 0;
}

/* Reads a file.  If the user has named it, with --config, it is trusted. */
static int read_file(struct settings *settings, bool is_system, const char *file, bool named)
{
    struct reader reader = {.settings = settings, .is_system = is_system, .file = file};
    int status = 0;
    struct stat st;
    FILE *in = fopen(file, "re");

    if (in && fstat(fileno(in), &st) == 0 && S_ISDIR(st.st_mode)) {
        fclose(in);
        in = NULL;
        errno = EISDIR;
    }
    if (!in)
        return log_failure(EXITCODE_CONFIG, "%s: cannot be read: %s", file, strerror(errno));
    if (!named)
        status = check_trust(file, &st, is_system);
    if (status == 0)
        status = read_lines(&reader, in);
    fclose(in);
    free(reader.place);
    free(reader.lock);
    return status;
}

/* Returns the path of the user's file, to be freed; NULL if there is none. */
static char *user_file(void)
{
    const char *base = getenv("XDG_CONFIG_HOME");

    /* The XDG Base Directory Specification says to ignore relative ones. */
    if (base && base[0] == '/')
        return xasprintf("%s/zkflock/config", base);
    base = getenv("HOME");
    return base && base[0] == '/' ? xasprintf("%s/.config/zkflock/config", base) : NULL;
}

/*
 * Reads one of the usual files.  At a FIFO every zkflock would wait for a writer, and to open a
 * device may have an effect.
 */
static int read_if_there(struct settings *settings, bool is_system, const char *file)
{
    struct stat st;
    bool there = stat(file, &st) == 0;

    /* What stands below a directory that may not be searched counts as missing. */
    if (!there && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
        return 0;
    if (there && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return log_failure(EXITCODE_CONFIG, "%s: cannot be read: it is no regular file", file);
    return read_file(settings, is_system, file, false);
}

int config_read(struct settings *settings, const char *file)
{
    char *user;
    int status;

    /* Debian's inih has these as variables, which others lack. */
    ini_max_line = LINE_SIZE;
    ini_initial_alloc = LINE_SIZE;
    ini_use_stack = false;
    ini_inline_comment_prefixes = (char *)";#";
    if (file)
        return read_file(settings, false, file, true);
    status = read_if_there(settings, true, CONFIG_SYSTEM_FILE);
    user = user_file();
    if (status == 0 && user)
        status = read_if_there(settings, false, user);
    free(user);
    return status;
}

bool config_can_hold(const char *text)
{
    size_t len = strlen(text);

    if (len == 0 || is_blank(text[len - 1]) || is_blank(text[0]) || strchr(";#", text[0]))
        return false;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f ||
            (i && is_blank(text[i - 1]) && strchr(";#", text[i])))
            return false;
    return true;
}
