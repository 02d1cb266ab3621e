#include "hold.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exitcode.h"
#include "log.h"
#include "reentry.h"
#include "tree.h"

enum { PIPE_NAME_SIZE = 64 };

/* Found out when the caller was: the guard and the hooks are its, too. */
static bool stderr_is_awaited;

/* Whether the process has the reading end of that pipe. */
static bool reads(pid_t pid, const char *pipe)
{
    char path[64];
    char target[64];
    struct stat st;
    bool found = false;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);

    DIR *fds = opendir(path);

    if (!fds)
        return false;
    for (const struct dirent *fd = readdir(fds); fd && !found; fd = readdir(fds)) {
        ssize_t len = readlinkat(dirfd(fds), fd->d_name, target, sizeof(target) - 1);

        target[len > 0 ? len : 0] = '\0';
        /* The mode of the link tells what it was opened for. */
        found = strcmp(target, pipe) == 0 &&
                fstatat(dirfd(fds), fd->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                !(st.st_mode & S_IWUSR);
    }
    closedir(fds);
    return found;
}

/* What a pipe is called below /proc; false if the descriptor is none. */
static bool name_pipe(int fd, char name[PIPE_NAME_SIZE])
{
    struct stat st;

    if (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode))
        return false;
    snprintf(name, PIPE_NAME_SIZE, "pipe:[%lu]", (unsigned long)st.st_ino);
    return true;
}

/* Whether the two run the same program with the same words, as a shell and its subshell do. */
static bool look_alike(pid_t a, pid_t b)
{
    char path[64];
    char words[2][4096];
    ssize_t len[2];

    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)(i ? b : a));

        int fd = open(path, O_RDONLY | O_CLOEXEC);

        len[i] = fd < 0 ? -1 : read(fd, words[i], sizeof(words[i]));
        if (fd >= 0)
            close(fd);
    }
    return len[0] > 0 && len[0] == len[1] && memcmp(words[0], words[1], (size_t)len[0]) == 0;
}

/*
 * The parent; but in $(zkflock --hold LOCK || exit) that is a subshell which ends with this line,
 * and the shell that it is a part of is who reads what is printed.
 */
static pid_t find_caller(void)
{
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        char pipe[PIPE_NAME_SIZE];
        pid_t pid = name_pipe(fd, pipe) ? getppid() : 0;

        while (pid) {
            if (reads(pid, pipe))
                return pid;
            pid = look_alike(pid, tree_parent(pid)) ? tree_parent(pid) : 0;
        }
    }
    return getppid();
}

/*
 * Whether the caller waits for the end of our stderr before it goes on: who reads stdout, as in
 * $(zkflock --hold LOCK 2>&1), reads that too, or the caller itself does, as what collects all that
 * a program says.
 */
static bool awaits_stderr(pid_t caller)
{
    char out[PIPE_NAME_SIZE];
    char pipe[PIPE_NAME_SIZE];
    struct ucred maker;
    socklen_t len = sizeof(maker);

    if (name_pipe(STDERR_FILENO, pipe))
        return (name_pipe(STDOUT_FILENO, out) && strcmp(out, pipe) == 0) || reads(caller, pipe);
    return getsockopt(STDERR_FILENO, SOL_SOCKET, SO_PEERCRED, &maker, &len) == 0 &&
           maker.pid == caller;
}

/* Though its number may still be there. */
static bool has_ended(int pidfd)
{
    struct pollfd end = {.fd = pidfd, .events = POLLIN};

    return poll(&end, 1, 0) > 0;
}

/*
 * Whether the parent has just been killed and another one, as the first process, is it now, for
 * which the lock would be held for ever.  A child is in the session of its parent, unless it has
 * made one of its own.
 */
static bool is_orphan(void)
{
    return getsid(getppid()) != getsid(0) && getsid(0) != getpid();
}

int hold_start(struct hold *hold, pid_t pid)
{
    *hold = (struct hold){.caller = pid ? pid : find_caller()};
    hold->caller_fd = (int)syscall(SYS_pidfd_open, hold->caller, 0);
    if (pid == 0 && is_orphan()) { /* asked last: what was found before may be the new parent */
        log_error("--hold: the process that has called zkflock has ended; --for PID holds the lock "
                  "for another one");
        return EXITCODE_USAGE;
    }
    snprintf(hold->name, sizeof(hold->name), "process %d", (int)hold->caller);
    hold->command[0] = hold->name;
    if (hold->caller == getpid()) {
        log_error("--hold: process %d is this zkflock itself, which ends when the lock is held",
                  (int)hold->caller);
        return EXITCODE_USAGE;
    }
    if (hold->caller_fd < 0 || has_ended(hold->caller_fd)) {
        log_error("--hold: there is no process %d to hold a lock for", (int)hold->caller);
        return EXITCODE_USAGE;
    }
    if (kill(hold->caller, 0) < 0) {
        log_error("--hold: process %d is another user's, and could not be ended if the lock were "
                  "lost",
                  (int)hold->caller);
        return EXITCODE_NOPERM;
    }
    tree_add_outsider(hold->caller, hold->caller_fd);
    stderr_is_awaited = awaits_stderr(hold->caller);
    return 0;
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void point_to_null(int fd, int flags)
{
    int null = open("/dev/null", flags | O_CLOEXEC);

    dup2(null, fd);
    if (null > STDERR_FILENO)
        close(null);
}

void hold_detach(const struct hold *hold, const struct front *front)
{
    int kept[] = {front->link, front->signal_fd, hold->caller_fd};
    unsigned int first = STDERR_FILENO + 1;

    qsort(kept, 3, sizeof(kept[0]), by_number);
    for (size_t i = 0; i < 3; i++) {
        if ((unsigned int)kept[i] > first)
            close_range(first, (unsigned int)kept[i] - 1, 0);
        first = (unsigned int)kept[i] + 1;
    }
    close_range(first, ~0U, 0);
    point_to_null(STDIN_FILENO, O_RDONLY);
    tree_spare_session();
}

void hold_drop_output(void)
{
    if (stderr_is_awaited)
        point_to_null(STDERR_FILENO, O_WRONLY);
    point_to_null(STDOUT_FILENO, O_WRONLY);
}

void hold_leave_directory(void)
{
    if (chdir("/") < 0)
        log_debug("cannot leave the working directory: %s", strerror(errno));
}

/* In single quotes, where a shell takes everything but a quote for itself. */
static void print_export(const char *name, const char *value)
{
    printf("export %s='", name);
    for (; *value; value++) {
        if (*value == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*value);
    }
    fputs("'\n", stdout);
}

bool hold_export(const char *lock, const char *node, int64_t token, const char *held)
{
    char *all = reentry_held_with(held);
    char text[24];

    print_export("ZKFLOCK_LOCK", lock);
    print_export("ZKFLOCK_NODE", node);
    snprintf(text, sizeof(text), "%" PRId64, token);
    print_export("ZKFLOCK_TOKEN", text);
    print_export(REENTRY_VARIABLE, all);
    free(all);
    if (fflush(stdout) == 0)
        return true;
    log_error("cannot print the environment of %s: %s; it is given back", lock, strerror(errno));
    return false;
}

void hold_export_failure(int status)
{
    dprintf(STDOUT_FILENO, "(exit %d)\n", status);
}
