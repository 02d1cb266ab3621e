/*
 * The terminal on stdout, if it is one.
 */
#ifndef ZKFLOCK_SCREEN_H
#define ZKFLOCK_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <termios.h>

/* Returns the columns of a line; 0: it has no end, as in a pipe. */
size_t screen_width(void);

/* Returns true if the terminal shows colours and NO_COLOR does not forbid them. */
bool screen_colours(void);

/* Returns true if stdout is a terminal on which pictures can be drawn one over the other. */
bool screen_is_live(void);

/* The terminal as it was found, to be put back. */
struct screen {
    bool entered;
    bool has_keys; /* stdin is the terminal too */
    struct termios found;
};

/*
 * Turns to the terminal's second screen and takes keys one by one, without echo; Ctrl-C and Ctrl-Z
 * stay signals.  In the background the process stops, as others do that want the terminal, until it
 * is in the foreground.  Each may be called twice.
 */
void screen_enter(struct screen *screen);
void screen_leave(struct screen *screen);

/* Draws as many lines of text as fit; none if the terminal accepts no output just now. */
void screen_draw(const char *text);

#endif
