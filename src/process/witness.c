#include "process/witness.h"

#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/helper.h"
#include "process/signals.h"

/* How long before and after the question the witness may get the signal. */
#define EARLIER CLOCK_S
#define LATER (100 * CLOCK_MS)

/* How long to wait for an answer; a witness that is stopped gives none. */
#define PATIENCE (400 * CLOCK_MS)

struct question {
    uint32_t serial; /* 0: no question: the witness forgets what it has seen, and does not answer */
    int32_t number;
    int32_t sender;
};

struct answer {
    uint32_t serial; /* the question's */
    bool found;
};

/* ---- the witness's process ---- */

struct sighting {
    int32_t sender;
    int64_t when; /* 0: none */
    bool used;
};

static void look(int signal_fd, struct sighting seen[])
{
    struct signalfd_siginfo info;

    while (read(signal_fd, &info, sizeof(info)) == sizeof(info))
        if (info.ssi_signo < NSIG && info.ssi_code != SI_KERNEL)
            seen[info.ssi_signo] =
                (struct sighting){.sender = (int32_t)info.ssi_pid, .when = clock_now()};
}

/*
 * Returns whether the signal was seen.  A sighting answers one question, and after that only those
 * that come at once: timeout(1), for one, sends its signal to its child and then to its group.
 */
static bool find(int signal_fd, struct sighting seen[], const struct question *question)
{
    struct pollfd more = {.fd = signal_fd, .events = POLLIN};
    struct sighting *sighting = &seen[question->number];
    int64_t asked = clock_now();
    bool found;

    do {
        look(signal_fd, seen);
        found = sighting->when && sighting->sender == question->sender &&
                sighting->when > asked - (sighting->used ? LATER : EARLIER);
    } while (!found && poll(&more, 1, clock_poll_timeout(asked + LATER)) > 0);
    sighting->used = sighting->used || found;
    return found;
}

static _Noreturn void witness_process(int link, pid_t parent)
{
    struct sighting seen[NSIG] = {0};
    struct question question;

    prctl(PR_SET_PDEATHSIG, SIGKILL);

    const sigset_t all = signals_block_all();

    /* Close all pipes: nobody must have to wait for the witness to close them. */
    if (getppid() != parent || dup2(link, STDIN_FILENO) < 0)
        _exit(0);
    closefrom(STDIN_FILENO + 1);

    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = signalfd(-1, &all, SFD_NONBLOCK), .events = POLLIN}};

    for (;;) {
        poll(fds, 2, -1);
        look(fds[1].fd, seen);
        if (!fds[0].revents)
            continue;
        if (recv(STDIN_FILENO, &question, sizeof(question), 0) != sizeof(question))
            _exit(0);

        if (question.serial == 0) {
            memset(seen, 0, sizeof(seen));
            continue;
        }

        struct answer answer = {.serial = question.serial};

        answer.found = find(fds[1].fd, seen, &question);
        send(STDIN_FILENO, &answer, sizeof(answer), MSG_NOSIGNAL);
    }
}

/* ---- for those who ask it ---- */

void witness_start(struct witness *witness)
{
    pid_t self = getpid();
    int link;
    pid_t pid = helper_fork(&link, 0, "lock-witness");

    if (pid == 0)
        witness_process(link, self);
    *witness = pid > 0 ? (struct witness){.pid = pid, .link = link} : (struct witness){.link = -1};
}

/* Returns whether the question was sent. */
static bool say(const struct witness *witness, const struct question *question)
{
    return witness->pid != 0 && send(witness->link, question, sizeof(*question),
                                     MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(*question);
}

bool witness_has_got(struct witness *witness, const struct signals_received *signal)
{
    const struct question question = {
        .serial = ++witness->asked, .number = signal->number, .sender = signal->sender};
    struct pollfd link = {.fd = witness->link, .events = POLLIN};
    int64_t deadline = clock_now() + PATIENCE;
    struct answer answer;

    if (!say(witness, &question))
        return false;
    while (poll(&link, 1, clock_poll_timeout(deadline)) > 0 &&
           recv(witness->link, &answer, sizeof(answer), MSG_DONTWAIT) == sizeof(answer))
        if (answer.serial == question.serial) /* else it answers an earlier question, late */
            return answer.found;
    return false;
}

void witness_forget(const struct witness *witness)
{
    say(witness, &(struct question){.serial = 0});
}

void witness_end(struct witness *witness)
{
    if (witness->pid == 0)
        return;
    /* A waitpid(2) for any child may have reaped it. */
    if (waitpid(witness->pid, NULL, WNOHANG) == 0) {
        kill(witness->pid, SIGKILL);
        waitpid(witness->pid, NULL, 0);
    }
    close(witness->link);
    *witness = (struct witness){.link = -1};
}
