#include "lock/note.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/xalloc.h"

#define NOTE_FORMAT "zkflock-once/1 began=%" PRId64

char *note_path(const char *lock)
{
    return xasprintf("%s" NOTE_SUFFIX, lock);
}

bool note_is_path(const char *path)
{
    size_t len = strlen(path);
    size_t suffix_len = strlen(NOTE_SUFFIX);

    return len >= suffix_len && strcmp(path + len - suffix_len, NOTE_SUFFIX) == 0;
}

size_t note_encode(int64_t began, char text[NOTE_SIZE])
{
    return (size_t)snprintf(text, NOTE_SIZE, NOTE_FORMAT "\n", began);
}

bool note_decode(const char *text, size_t len, int64_t *began)
{
    char copy[NOTE_SIZE];
    char again[NOTE_SIZE];
    int64_t read;

    if (len == 0) {
        *began = NOTE_NEVER;
        return true;
    }
    if (len >= NOTE_SIZE)
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    /* What does not fit a number is found out below.  NOLINTNEXTLINE(cert-err34-c) */
    if (sscanf(copy, NOTE_FORMAT, &read) != 1 || read < 0)
        return false;
    /* sscanf takes blanks and signs that a note never has: it must be the same to the byte. */
    if (note_encode(read, again) != len || memcmp(again, text, len) != 0)
        return false;
    *began = read;
    return true;
}

enum note_verdict note_judge(int64_t began, int64_t now, int64_t waited, int64_t period,
                             int64_t *ago)
{
    *ago = 0;
    if (began == NOTE_NEVER)
        return NOTE_DUE;
    /* Neither is below 0 then, so that the difference fits. */
    *ago = (now > 0 ? now : 0) - began;
    if (*ago > period && *ago - waited > period)
        return NOTE_DUE;
    return *ago >= -period ? NOTE_RECENT : NOTE_AHEAD;
}
