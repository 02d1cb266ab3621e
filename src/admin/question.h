/*
 * Asks the person at the terminal, before something is done to others.
 */
#ifndef ZKFLOCK_QUESTION_H
#define ZKFLOCK_QUESTION_H

#include "list/admin.h"

/*
 * Returns a descriptor, to be closed, of the terminal that this process is in the foreground of; -1
 * if it is in that of none.
 */
int question_terminal(void);

enum question_answer {
    QUESTION_NO, /* anything but yes, also the end of the input */
    QUESTION_YES,
    QUESTION_ENDED, /* a signal ends the visit, see admin_ended() */
};

/* Writes the text, which has to be clean, see text.h, and waits for a line. */
enum question_answer question_ask(struct admin *admin, int terminal, const char *text);

#endif
