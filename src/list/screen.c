#include "list/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "process/signals.h"

static struct winsize window(void)
{
    struct winsize size = {0};

    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    if (size.ws_col == 0)
        size.ws_col = 80;
    if (size.ws_row == 0)
        size.ws_row = 24;
    return size;
}

size_t screen_width(void)
{
    return isatty(STDOUT_FILENO) ? window().ws_col : 0;
}

bool screen_is_live(void)
{
    const char *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

bool screen_colours(void)
{
    const char *no_color = getenv("NO_COLOR");

    return screen_is_live() && !(no_color && *no_color);
}

static void put(const char *text)
{
    while (*text) {
        ssize_t done = write(STDOUT_FILENO, text, strlen(text));

        if (done < 0 && errno != EINTR)
            return; /* the terminal is gone; SIGHUP will say so */
        text += done > 0 ? done : 0;
    }
}

void screen_enter(struct screen *screen)
{
    struct termios raw;

    if (screen->entered)
        return;
    signals_await_foreground(STDOUT_FILENO);
    screen->has_keys = tcgetattr(STDIN_FILENO, &screen->found) == 0;
    if (screen->has_keys) {
        raw = screen->found;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    put("\033[?1049h\033[?25l");
    screen->entered = true;
}

void screen_leave(struct screen *screen)
{
    if (!screen->entered)
        return;
    tcflow(STDOUT_FILENO, TCOON); /* else a stopped terminal would hold us up */
    put("\033[?25h\033[?1049l");
    if (screen->has_keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &screen->found);
    screen->entered = false;
}

/* Erases each line before it writes it: after a full line the cursor is on its last character. */
void screen_draw(const char *text)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    size_t rows = window().ws_row;
    size_t lines = 0;
    size_t shown;
    char *frame = NULL;
    size_t len = 0;
    FILE *to;

    if (poll(&out, 1, 0) != 1 || !(to = open_memstream(&frame, &len)))
        return;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    shown = lines > rows ? rows - 1 : lines;
    fputs("\033[H", to);
    for (size_t row = 0; row < shown; row++) {
        size_t line = strcspn(text, "\n");

        fprintf(to, "%s\033[K%.*s", row ? "\r\n" : "", (int)line, text);
        text += line + 1;
    }
    if (lines > shown)
        fprintf(to, "\r\n\033[K(%zu more lines)", lines - shown);
    else if (lines < rows)
        fputs("\r\n\033[J", to);
    if (fclose(to) == 0)
        put(frame);
    free(frame);
}
