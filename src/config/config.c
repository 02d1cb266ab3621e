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
#include "base/xalloc.h"
#include "config/option_table.h"
#include "config/resolve.h"

/* A limit for lines, which leaves room for every value that makes sense. */
enum { LINE_SIZE = 65536 };

/* The file that is being read, and how far. */
struct reader {
    struct settings *settings;
    enum settings_level level;      /* of [zkflock] */
    enum settings_level lock_level; /* of [lock NAME] */
    const char *file;
    char *place; /* FILE:LINE */
    char *lock;  /* the NAME of the section; NULL: it is [zkflock] */
    bool in_section;
    int status;
};

static void refuse(struct reader *reader)
{
    reader->status = EXITCODE_CONFIG;
}

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

static void take_pair(struct reader *reader, char *name, char *value)
{
    const struct option_row *row = option_table_key(name);

    if (!reader->in_section) {
        log_error("'%s' stands before the first section, [zkflock] or [lock NAME]", name);
        refuse(reader);
        return;
    }
    if (!row) {
        log_error("there is no key '%s'", name);
        refuse(reader);
        return;
    }
    if (row->lock_only && !reader->lock) {
        log_error("%s belongs in a section [lock NAME], not in [zkflock]", name);
        refuse(reader);
        return;
    }

    const struct setting setting = {
        .level = reader->lock ? reader->lock_level : reader->level,
        .row = row,
        .name = name,
        .text = value,
        .lock = reader->lock,
        .origin = reader->place,
    };
    const struct setting *before = given_already(reader, &setting);

    if (before) {
        log_error("%s stands in this section already, at %s", name, before->origin);
        refuse(reader);
        return;
    }
    /* resolve_check() sets the place itself. */
    log_set_place(NULL);
    reader->status = resolve_check(settings_add(reader->settings, &setting));
}

/* Takes a pair; inih calls it once for each line with one. */
static int on_pair(void *user, const char *section, const char *name, const char *value)
{
    (void)section;
    take_pair(user, (char *)name, (char *)value);
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
static void take_section(struct reader *reader, char *line)
{
    static const char lock[] = "lock";
    size_t len;

    cut_end(line);
    len = strlen(line);
    if (line[len - 1] != ']') {
        log_error("the section lacks its closing bracket");
        refuse(reader);
        return;
    }
    line[len - 1] = '\0';
    line++;
    line += strspn(line, " \t");
    cut_end(line);
    reader->in_section = true;
    xreplace(&reader->lock, NULL);
    if (strcmp(line, "zkflock") == 0)
        return;
    if (strncmp(line, lock, strlen(lock)) == 0 &&
        (is_blank(line[strlen(lock)]) || !line[strlen(lock)])) {
        line += strlen(lock);
        line += strspn(line, " \t");
        xreplace(&reader->lock, xstrdup(line));
        reader->status = resolve_check_name(line);
        return;
    }
    log_error("there is no section [%s], only [zkflock] and [lock NAME]", line);
    refuse(reader);
}

static void take_line(struct reader *reader, char *line)
{
    line += strspn(line, " \t");
    if (*line == '[') {
        take_section(reader, line);
    } else if (ini_parse_string(line, on_pair, reader) != 0) {
        log_error("this is neither a [section], nor key = value, nor a comment");
        refuse(reader);
    }
}

/* Reads a line without its end.  Returns 1, 0 at the end of the file, -1 after a sentence. */
static int read_line(FILE *in, char line[LINE_SIZE])
{
    size_t len = 0;
    int c;

    while ((c = getc(in)) != EOF && c != '\n') {
        if (c == '\0') {
            log_error("this line holds a NUL byte");
            return -1;
        }
        if (len == LINE_SIZE - 2) {
            log_error("this line is too long: at most %d bytes", LINE_SIZE - 2);
            return -1;
        }
        line[len++] = (char)c;
    }
    if (ferror(in)) {
        log_error("this line cannot be read: %s", strerror(errno));
        return -1;
    }
    if (len && line[len - 1] == '\r')
        len--;
    line[len] = '\0';
    return c != EOF || len ? 1 : 0;
}

static void read_lines(struct reader *reader, FILE *in)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    char *line = xcalloc(LINE_SIZE, 1);

    for (int number = 1; reader->status == 0; number++) {
        int got;

        xreplace(&reader->place, xasprintf("%s:%d", reader->file, number));
        log_set_place(reader->place);
        got = read_line(in, line);
        if (got == 0)
            break;
        if (got < 0)
            refuse(reader);
        else if (number == 1 && strncmp(line, byte_order_mark, strlen(byte_order_mark)) == 0)
            take_line(reader, line + strlen(byte_order_mark));
        else
            take_line(reader, line);
    }
    log_set_place(NULL);
    free(line);
}

/* ---- files ---- */

/* Returns whether there is no file.  One below a directory that may not be searched counts too. */
static bool is_missing(const char *file)
{
    struct stat st;

    return stat(file, &st) < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES);
}

/*
 * Returns whether nobody else could have written the file, which may name commands to run.  It has
 * to belong to root or to the user who runs zkflock; the system's file to root or to the owner of
 * /etc, whose number in a user namespace may not be root's.  Nobody but its owner may write it.
 */
static bool is_trustworthy(const char *file, const struct stat *st, bool is_system)
{
    struct stat etc;
    uid_t owner = geteuid();

    if (is_system)
        owner = stat("/etc", &etc) == 0 ? etc.st_uid : 0;
    if (st->st_uid != 0 && st->st_uid != owner)
        log_error("%s: belongs to uid %u, and is not trusted: it may name commands to run; give it "
                  "to %s",
                  file, (unsigned int)st->st_uid,
                  is_system ? "root"
                            : "root or to the user who runs zkflock, or set HOME (sudo -H)");
    else if (st->st_mode & (S_IWGRP | S_IWOTH))
        log_error("%s: others than its owner may write it, and it is not trusted: it may name "
                  "commands to run; chmod go-w",
                  file);
    else
        return true;
    return false;
}

/* Reads a file.  If the user has named it, with --config, it is trusted. */
static int read_file(struct settings *settings, enum settings_level level, const char *file,
                     bool named)
{
    struct reader reader = {.settings = settings,
                            .level = level,
                            .lock_level = level == SETTINGS_SYSTEM ? SETTINGS_SYSTEM_LOCK
                                                                   : SETTINGS_USER_LOCK,
                            .file = file};
    struct stat st;
    FILE *in = fopen(file, "re");

    if (in && fstat(fileno(in), &st) == 0 && S_ISDIR(st.st_mode)) {
        fclose(in);
        in = NULL;
        errno = EISDIR;
    }
    if (!in) {
        log_error("%s: cannot be read: %s", file, strerror(errno));
        return EXITCODE_CONFIG;
    }
    if (named || is_trustworthy(file, &st, level == SETTINGS_SYSTEM))
        read_lines(&reader, in);
    else
        refuse(&reader);
    fclose(in);
    free(reader.place);
    free(reader.lock);
    return reader.status;
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

/* Reads one of the usual files.  A FIFO is refused: every zkflock would wait for a writer. */
static int read_if_there(struct settings *settings, enum settings_level level, const char *file)
{
    struct stat st;

    if (is_missing(file))
        return 0;
    if (stat(file, &st) == 0 && S_ISFIFO(st.st_mode)) {
        log_error("%s: cannot be read: it is a FIFO", file);
        return EXITCODE_CONFIG;
    }
    return read_file(settings, level, file, false);
}

int config_read(struct settings *settings, const char *file)
{
    char *user;
    int status;

    /* Debian's inih has these as variables. */
    ini_max_line = LINE_SIZE;
    ini_initial_alloc = LINE_SIZE;
    ini_use_stack = false;
    ini_inline_comment_prefixes = (char *)";#";
    if (file)
        return read_file(settings, SETTINGS_USER, file, true);
    status = read_if_there(settings, SETTINGS_SYSTEM, CONFIG_SYSTEM_FILE);
    user = user_file();
    if (status == 0 && user)
        status = read_if_there(settings, SETTINGS_USER, user);
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
