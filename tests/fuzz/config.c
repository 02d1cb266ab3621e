/*
 * A whole config file.  It is taken, or refused with status 78.  What is taken, written as a config
 * file again, comes to the same settings.
 */
#include "config/config.h"

#include <sys/mman.h>

#include "base/exitcode.h"
#include "config/option_table.h"
#include "fuzz.h"

static int read_file(struct settings *settings, const void *bytes, size_t len)
{
    int fd = memfd_create("config", MFD_CLOEXEC);
    char path[40];
    int status;

    if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    status = config_read(settings, path);
    close(fd);
    return status;
}

static bool are_same(const char *one, const char *other)
{
    return one == other || (one && other && strcmp(one, other) == 0);
}

/* Writes each setting into a section of its own, and reads that. */
static void check_again(const struct settings *settings)
{
    struct settings again = {0};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        abort();
    for (size_t i = 0; i < settings->len; i++) {
        const struct setting *setting = &settings->list[i];

        if (setting->lock)
            fprintf(out, "[lock %s]\n", setting->lock);
        else
            fprintf(out, "[zkflock]\n");
        /* Behind a blank a # would begin a comment. */
        fprintf(out, "%s=%s\n", setting->name, setting->text);
    }
    fclose(out);
    MUST(read_file(&again, text, len) == 0);
    MUST(again.len == settings->len);
    for (size_t i = 0; i < again.len; i++) {
        MUST(again.list[i].row == settings->list[i].row);
        MUST(are_same(again.list[i].text, settings->list[i].text));
        MUST(are_same(again.list[i].lock, settings->list[i].lock));
    }
    settings_release(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct settings settings = {0};
    int status = read_file(&settings, bytes, size);

    MUST(status == 0 || status == EXITCODE_CONFIG);
    for (size_t i = 0; i < settings.len; i++) {
        const struct setting *setting = &settings.list[i];

        MUST(setting->row == option_table_key(setting->name));
        MUST(setting->level == (setting->lock ? SETTINGS_USER_LOCK : SETTINGS_USER));
        MUST(setting->lock || !setting->row->lock_only);
    }
    if (status == 0)
        check_again(&settings);
    settings_release(&settings);
    return 0;
}
