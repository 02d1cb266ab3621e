#include "process/procid.h"

#include <string.h>

#include "process/process.h"

/* The bit of the field "flags" in /proc/PID/stat; PF_FORKNOEXEC in Linux' include/linux/sched.h. */
#define FORKED_WITHOUT_EXEC 0x40

bool procid_of(pid_t pid, struct procid *id)
{
    struct process process;

    if (!process_read(pid, &process))
        return false;
    *id = (struct procid){.pid = pid, .started = process.start};
    return true;
}

bool procid_is_current(const struct procid *id)
{
    struct procid now;

    return procid_of(id->pid, &now) && now.started == id->started;
}

bool procid_is_bare_fork(pid_t pid)
{
    struct process process;

    return process_read(pid, &process) && (process.flags & FORKED_WITHOUT_EXEC);
}

bool procid_is_near(pid_t pid)
{
    static const char key[] = "\nNSpid:\t";
    char text[4096];
    const char *numbers;

    if (pid <= 0 || !process_read_text(pid, "status", text, sizeof(text)))
        return false;
    /* A number for each pid namespace that the process is in, from the one of this /proc on. */
    numbers = strstr(text, key);
    return numbers && numbers[strlen(key) + strspn(numbers + strlen(key), "0123456789")] == '\n';
}
