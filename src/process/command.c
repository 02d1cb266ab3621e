#include "process/command.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"

/* Returns 0 if the file can be executed, else errno. */
static int executable(const char *file)
{
    struct stat st;

    if (stat(file, &st) < 0)
        return errno;
    if (!S_ISREG(st.st_mode))
        return S_ISDIR(st.st_mode) ? EISDIR : EACCES;
    return faccessat(AT_FDCWD, file, X_OK, AT_EACCESS) < 0 ? errno : 0;
}

static enum exitcode exec_failure(int error)
{
    if (error == EMFILE || error == ENFILE || error == EAGAIN || error == ENOMEM)
        return EXITCODE_OSERR; /* the fault is the system's, not the command's */
    return error == ENOENT || error == ENOTDIR ? EXITCODE_NOTFOUND : EXITCODE_NOEXEC;
}

enum exitcode command_not_executed(const struct command *command, int error)
{
    log_error("cannot execute %s: %s", command->argv[0], strerror(error));
    return exec_failure(error);
}

static enum exitcode complain(const struct command *command, const char *name, int error)
{
    if (error != ENOENT)
        return command_not_executed(command, error);
    bool is_line = strcmp(command->role, "command") == 0 && strchr(command->argv[0], ' ');

    log_error("%s not found: %s%s", command->role, name,
              is_line ? "; for a line of the shell use -c" : "");
    return exec_failure(error);
}

enum exitcode command_find(struct command *command)
{
    const char *name = command->argv[0];
    const char *path = getenv("PATH");
    int trouble = ENOENT;

    if (name[0] == '\0')
        return complain(command, "'' (an empty word)", ENOENT);
    if (strchr(name, '/')) {
        trouble = executable(name);
        command->file = xstrdup(name);
        return trouble ? complain(command, name, trouble) : 0;
    }
    /* Without PATH, the same as execvp(3) uses. */
    for (const char *dir = path ? path : "/bin:/usr/bin"; dir;) {
        size_t len = strcspn(dir, ":");
        char *file = len ? xasprintf("%.*s/%s", (int)len, dir, name) : xasprintf("./%s", name);
        int error = executable(file);

        if (error == 0) {
            command->file = file;
            return 0;
        }
        free(file);
        if (error == EACCES)
            trouble = EACCES;
        dir = dir[len] ? dir + len + 1 : NULL;
    }
    return complain(command, name, trouble);
}

/* Returns errno: the command cannot be executed. */
static int execute(const struct command *command)
{
    if (command->inherited.ignores_child)
        signal(SIGCHLD, SIG_IGN);
    sigprocmask(SIG_SETMASK, &command->inherited.mask, NULL);
    execvp(command->file, command->argv);
    return errno;
}

enum exitcode command_replace(const struct command *command)
{
    return command_not_executed(command, execute(command));
}

/* Returns errno if the command cannot be executed. */
static int execute_as_child(const struct command *command, pid_t parent)
{
    const struct command_inheritance *inherited = &command->inherited;

    /* Fails if the caller's process group has ended; then the guard will end this process, too. */
    if (inherited->process_group || inherited->leads_group)
        setpgid(0, inherited->leads_group ? 0 : inherited->process_group);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return errno;
    if (getppid() != parent)
        _exit(EXITCODE_INTERNAL);
    return execute(command);
}

_Noreturn void command_become(const struct command *command, pid_t parent, int failure, int error)
{
    if (!error)
        error = execute_as_child(command, parent);

    if (write(failure, &error, sizeof(error)) < 0)
        _exit(EXITCODE_OSERR);
    _exit((int)exec_failure(error));
}
