#include "ensemble/trouble.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "ensemble/fault.h"

/* The library calls the next server at once, and that one has not been silent for less than this.
 */
#define SILENCE (500 * CLOCK_MS)

/* How long a reason that can be mended stays, while other servers are just not there. */
#define STAYS (5 * CLOCK_S)

/* The trouble that the library's log tells of. */
static _Atomic(struct trouble *) listener;

void trouble_init(struct trouble *trouble, bool relayed)
{
    *trouble = (struct trouble){.relayed = relayed};
    pthread_mutex_init(&trouble->mutex, NULL);
}

void trouble_destroy(struct trouble *trouble)
{
    atomic_store(&listener, NULL);
    pthread_mutex_destroy(&trouble->mutex);
}

void trouble_begin(struct trouble *trouble)
{
    trouble_not_cut(trouble);
    atomic_store(&listener, trouble);
}

/* With the mutex. */
static void set(struct trouble *trouble, enum trouble_kind kind, const char *text)
{
    trouble->kind = kind;
    trouble->noted = clock_now();
    snprintf(trouble->text, sizeof(trouble->text), "%s", text);
}

/*
 * Returns whether the reason of before tells more: a server there, or this process, has a fault,
 * and of another server nothing was heard, as of one at the other address of a name.  With the
 * mutex.
 */
static bool tells_more(const struct trouble *trouble, enum trouble_kind kind, const char *text)
{
    size_t server = strcspn(text, " ") + 1;

    return kind == TROUBLE_NO_CONTACT && trouble_is_exact(trouble->kind) &&
           clock_now() - trouble->noted < STAYS && strncmp(trouble->text, text, server) != 0;
}

void trouble_note(struct trouble *trouble, enum trouble_kind kind, const char *text)
{
    pthread_mutex_lock(&trouble->mutex);
    if (!tells_more(trouble, kind, text))
        set(trouble, kind, text);
    pthread_mutex_unlock(&trouble->mutex);
}

bool trouble_cut(struct trouble *trouble, bool silence)
{
    pthread_mutex_lock(&trouble->mutex);
    silence &= clock_now() - trouble->noted >= SILENCE;
    trouble->next_end = silence ? TROUBLE_END_OF_SILENCE : TROUBLE_END_TOLD;
    pthread_mutex_unlock(&trouble->mutex);
    return silence;
}

void trouble_not_cut(struct trouble *trouble)
{
    pthread_mutex_lock(&trouble->mutex);
    trouble->next_end = TROUBLE_END_OF_SERVER;
    pthread_mutex_unlock(&trouble->mutex);
}

bool trouble_take_timeout(struct trouble *trouble)
{
    bool timed_out;

    pthread_mutex_lock(&trouble->mutex);
    timed_out = trouble->timed_out;
    trouble->timed_out = false;
    pthread_mutex_unlock(&trouble->mutex);
    return timed_out;
}

void trouble_forget(struct trouble *trouble)
{
    pthread_mutex_lock(&trouble->mutex);
    set(trouble, TROUBLE_NONE, "");
    trouble->next_end = TROUBLE_END_OF_SERVER;
    pthread_mutex_unlock(&trouble->mutex);
}

/* ---- the library's log ---- */

/* The library calls an end of file EHOSTDOWN. */
static bool is_end(long error)
{
    return error == EHOSTDOWN || error == ECONNRESET || error == EPIPE;
}

static const char silent[] = "the server does not answer";

/* A connection has ended, of which the log tells no more.  With the mutex. */
static void note_end(struct trouble *trouble)
{
    static const char closed[] = "the server " TROUBLE_CLOSED ", or expects TLS";

    if (trouble->next_end == TROUBLE_END_OF_SERVER)
        set(trouble, TROUBLE_NO_CONTACT, closed);
    else if (trouble->next_end == TROUBLE_END_OF_SILENCE)
        set(trouble, TROUBLE_NO_CONTACT, silent);
    trouble->next_end = TROUBLE_END_OF_SERVER;
}

/* Notes an error and the library's words for it.  With the mutex. */
static void note_error(struct trouble *trouble, long error, const char *words)
{
    static const char unsound[] = "the server sent what is no reply of ZooKeeper"; /* see wire.c */

    if (error == EBADMSG)
        set(trouble, TROUBLE_FAULT, unsound);
    else if (error == ETIMEDOUT)
        set(trouble, TROUBLE_NO_CONTACT, silent);
    else if (is_end(error))
        note_end(trouble);
    else
        set(trouble, fault_is_lack(error) ? TROUBLE_LOCAL : TROUBLE_NO_CONTACT, words);
}

/*
 * The library's log is the only place that tells why a server could not be used:
 * "...:func@123: Socket 127.0.0.1:1 zk retcode=-4, errno=111(Connection refused): ...".
 */
static void remember(struct trouble *trouble, const char *message)
{
    const char *errno_text = strstr(message, "errno=");
    const char *begin = errno_text ? strchr(errno_text, '(') : NULL;
    const char *end = begin ? strchr(begin, ')') : NULL;
    char words[sizeof(trouble->text)];

    if (!end)
        return;
    snprintf(words, sizeof(words), "%.*s", (int)(end - begin - 1), begin + 1);

    long error = strtol(errno_text + strlen("errno="), NULL, 10);

    pthread_mutex_lock(&trouble->mutex);
    trouble->timed_out = error == ETIMEDOUT;
    if (!trouble->relayed || !(is_end(error) || trouble->timed_out)) /* else the relay tells */
        note_error(trouble, error, words);
    pthread_mutex_unlock(&trouble->mutex);
}

void trouble_on_log(const char *message)
{
    struct trouble *trouble = atomic_load(&listener);

    if (trouble)
        remember(trouble, message);
    /* Without the time, pid and thread in front, and the newline behind some of them. */
    const char *text = strstr(message, "ZOO_");

    text = text ? text : message;
    log_library("%.*s", (int)strcspn(text, "\n"), text);
}

/* ---- for messages ---- */

enum trouble_kind trouble_last(struct trouble *trouble, char text[TROUBLE_SIZE])
{
    pthread_mutex_lock(&trouble->mutex);
    snprintf(text, TROUBLE_SIZE, "%s%s", trouble->text[0] ? ": " : "", trouble->text);

    enum trouble_kind kind = trouble->kind;

    pthread_mutex_unlock(&trouble->mutex);
    return kind;
}
