#include "admin/question.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"

int question_terminal(void)
{
    int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);

    if (terminal >= 0 && tcgetpgrp(terminal) != getpgrp()) {
        close(terminal); /* in the background a read would stop the job, or fail with EIO */
        return -1;
    }
    return terminal;
}

static void say(int terminal, const char *text)
{
    ssize_t written = write(terminal, text, strlen(text));

    (void)written; /* a terminal that has gone gives no answer either */
}

/* Reads once: a terminal gives whole lines. */
static enum question_answer read_answer(int terminal)
{
    char line[16];
    ssize_t len = read(terminal, line, sizeof(line) - 1);

    if (len <= 0) {
        say(terminal, "\n");
        return QUESTION_NO;
    }
    line[len] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    return strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0 ? QUESTION_YES : QUESTION_NO;
}

enum question_answer question_ask(struct admin *admin, int terminal, const char *text)
{
    enum question_answer answer = QUESTION_ENDED;
    struct session_event event;
    bool asking = true;

    say(terminal, text);
    admin->also = (struct pollfd){.fd = terminal, .events = POLLIN};
    while (asking) {
        switch (admin_next(admin, CLOCK_NEVER, &event)) {
        case ADMIN_READY:
            answer = read_answer(terminal);
            asking = false;
            break;
        case ADMIN_ENDED:
            say(terminal, "\n");
            asking = false;
            break;
        case ADMIN_CONTINUED:
            say(terminal, text);
            break;
        case ADMIN_EVENT:
            if (event.type == SESSION_EXPIRED)
                session_reopen(admin->session); /* a person may take hours */
            break;
        default:
            break;
        }
    }
    admin->also.fd = -1;
    return answer;
}
