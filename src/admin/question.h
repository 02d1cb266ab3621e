/*
 * A question to the person at the terminal, before something is done to others.
 */
#ifndef ZKFLOCK_QUESTION_H
#define ZKFLOCK_QUESTION_H

#include "list/admin.h"

/*
 * A descriptor of the terminal that this process is in the foreground of, to be closed; -1 if
 * there is none to ask on.
 */
int question_terminal(void);

enum question_answer {
    QUESTION_NO, /* whatever is no yes, an end of the input included */
    QUESTION_YES,
    QUESTION_ENDED, /* a signal ends the visit, see admin_ended() */
};

/* Writes the text, which has to be harmless to a terminal, and waits for a line. */
enum question_answer question_ask(struct admin *admin, int terminal, const char *text);

#endif
