/*
 * One line on the terminal that stderr is, which says how things stand, is replaced in place and
 * is gone before anything else is printed there.
 */
#ifndef ZKFLOCK_STATUS_LINE_H
#define ZKFLOCK_STATUS_LINE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Returns whether there is somebody to read it: stderr is a terminal that can clear a line, with
 * the caller's process group in the foreground, or not the controlling terminal at all. under_hold:
 * the parent, which is in the caller's session, knows the controlling terminal, and not this
 * process.
 */
bool status_line_wanted(pid_t process_group, bool under_hold);

/* Shows this text, cut to the terminal's width; what would change a terminal becomes '?'. */
void status_line_show(const char *text);

/* Takes it away.  Does nothing where there is none. */
void status_line_clear(void);

#endif
