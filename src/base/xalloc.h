/*
 * Memory that is there: on failure these end the process with EXITCODE_OSERR and a message.
 * Used before the command starts; what runs afterwards allocates little and checks.
 */
#ifndef ZKFLOCK_XALLOC_H
#define ZKFLOCK_XALLOC_H

#include <stddef.h>
#include <stdlib.h>

void *xcalloc(size_t count, size_t size);
void *xreallocarray(void *old, size_t count, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t len);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Frees what *place points to and puts text there instead, which may be NULL. */
void xreplace(char **place, char *text);

#endif
