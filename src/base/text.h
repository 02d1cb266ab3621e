/*
 * Makes text from outside fit for a terminal or a line of output: nothing that could change a
 * terminal gets through, and what is too long is cut.  Call setlocale(3) first, which says what a
 * character is.
 */
#ifndef ZKFLOCK_TEXT_H
#define ZKFLOCK_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A copy, to be freed, in which every byte that is no part of a visible character is a '?'. */
char *text_clean(const char *raw);

/* Returns how many columns a clean text takes. */
size_t text_width(const char *clean);

enum text_style { TEXT_PLAIN, TEXT_BOLD, TEXT_DIM, TEXT_GOOD, TEXT_BUSY, TEXT_BAD };

/* Writes a clean text in this style, or plain where there are no colours. */
void text_put(FILE *out, const char *clean, enum text_style style, bool colours);

/* A copy, to be freed, of a clean text, cut to so many columns; what is cut ends in an ellipsis. */
char *text_cut(const char *clean, size_t width);

/* Room for what text_clock() writes. */
#define TEXT_TIME_SIZE 40

/* The time of day here, with the date if that is not today's; ms since 1970.  Returns the text. */
const char *text_clock(int64_t ms, char buf[TEXT_TIME_SIZE]);

/* The time now, ms since 1970. */
int64_t text_now(void);

/*
 * Ends what was written to stdout; returns the exit status, after a message if it could not be
 * written.  A reader that stops after the beginning, as head(1) does, gets no message.
 */
int text_flush(void);

/* Cuts blanks off both ends, in place; returns the beginning. */
char *text_trim(char *text);

#endif
