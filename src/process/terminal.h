/*
 * The settings of the terminal.  A program that changes them, such as an editor, restores them when
 * it ends; not if it is killed.
 */
#ifndef ZKFLOCK_TERMINAL_H
#define ZKFLOCK_TERMINAL_H

#include <stdbool.h>
#include <termios.h>

struct terminal {
    bool saved;
    struct termios settings;
};

/*
 * Saves the settings of the controlling terminal unless another process is in its foreground: then
 * they are those of another program, such as the shell at its prompt.
 */
void terminal_save(struct terminal *terminal);

/*
 * Restores them, if they were saved and no other process is in the foreground.  SIGTTOU has to be
 * blocked.
 */
void terminal_restore(const struct terminal *terminal);

#endif
