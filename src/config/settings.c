#include "config/settings.h"

#include <string.h>

#include "base/exitcode.h"
#include "base/xalloc.h"
#include "config/option_table.h"

static char *copy_of(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

const struct setting *settings_add(struct settings *settings, const struct setting *setting)
{
    settings->list = xreallocarray(settings->list, settings->len + 1, sizeof(settings->list[0]));

    struct setting *copy = &settings->list[settings->len++];

    *copy = *setting;
    copy->name = copy_of(setting->name);
    copy->text = copy_of(setting->text);
    copy->lock = copy_of(setting->lock);
    copy->origin = copy_of(setting->origin);
    return copy;
}

bool settings_applies(const struct setting *setting, const char *lock)
{
    return !setting->lock || (lock && strcmp(setting->lock, lock) == 0);
}

const struct setting *settings_find(const struct settings *settings, unsigned int choice,
                                    const char *lock)
{
    return settings_find_up_to(settings, choice, lock, SETTINGS_COMMAND_LINE);
}

const struct setting *settings_find_up_to(const struct settings *settings, unsigned int choice,
                                          const char *lock, enum settings_level level)
{
    const struct setting *found = NULL;

    for (size_t i = 0; i < settings->len; i++) {
        const struct setting *setting = &settings->list[i];

        if (option_table_choice(setting->row) == choice && settings_applies(setting, lock) &&
            setting->level <= level && (!found || setting->level >= found->level))
            found = setting;
    }
    return found;
}

const struct setting *settings_section(const struct settings *settings, const char *lock)
{
    for (size_t i = 0; i < settings->len; i++)
        if (settings->list[i].lock && strcmp(settings->list[i].lock, lock) == 0)
            return &settings->list[i];
    return NULL;
}

int settings_status(const struct setting *setting, int status)
{
    return status == EXITCODE_USAGE && setting && setting->level != SETTINGS_COMMAND_LINE
               ? EXITCODE_CONFIG
               : status;
}

void settings_release(struct settings *settings)
{
    for (size_t i = 0; i < settings->len; i++) {
        free(settings->list[i].name);
        free(settings->list[i].text);
        free(settings->list[i].lock);
        free(settings->list[i].origin);
    }
    free(settings->list);
    *settings = (struct settings){0};
}
