/*
 * The terminal on stdout, if it is one.
 */
#ifndef ZKFLOCK_SCREEN_H
#define ZKFLOCK_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <termios.h>

/* Columns of a line; 0: it has no end, as in a pipe. */
size_t screen_width(void);

/* Whether colours are welcome: on a terminal that can, and not under NO_COLOR. */
bool screen_colours(void);

/* Whether stdout is a terminal on which a picture can be drawn again and again. */
bool screen_is_live(void);

/* What was found, to be put back. */
struct screen {
    bool entered;
    bool has_keys; /* stdin is the terminal too */
    struct termios found;
};

/*
 * Turns to the terminal's second screen and takes keys one by one, without echo; Ctrl-C and Ctrl-Z
 * stay signals.  In the background it stops, as whatever wants the terminal, until it is in the
 * foreground.  Both may be called twice.
 */
void screen_enter(struct screen *screen);
void screen_leave(struct screen *screen);

/* Draws the lines of text, as many as fit; nothing if the terminal takes nothing just now. */
void screen_draw(const char *text);

#endif
