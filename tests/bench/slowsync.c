/*
 * Runs a command as if its disk took MS for each fsync() and fdatasync().
 *
 *     slowsync MS COMMAND...
 *
 * The kernel holds these calls (seccomp_unotify(2)) and a child of the command answers them when
 * the time is over, without a sync of the real disk.  A preloaded library would not reach etcd:
 * programs in Go call the kernel themselves.
 */
#include <err.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CALLS_MAX = 1024, NS_PER_MS = 1000000 };

/* Calls that wait, in the order in which they are due. */
struct queue {
    struct call {
        __u64 id;
        long long due;
    } calls[CALLS_MAX];
    unsigned first;
    unsigned count;
};

static long long now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (long long)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Returns the descriptor that tells of the calls. */
static int hold_syncs(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fsync, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fdatasync, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        err(71, "prctl");
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &program);
}

static void take(int listener, struct queue *queue, long long delay)
{
    struct seccomp_notif call = {0};
    unsigned last = (queue->first + queue->count) % CALLS_MAX;

    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call))
        return; /* its thread was killed meanwhile */
    queue->calls[last] = (struct call){.id = call.id, .due = now() + delay};
    queue->count++;
}

static void answer(int listener, struct queue *queue)
{
    struct seccomp_notif_resp success = {.id = queue->calls[queue->first].id};

    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &success);
    queue->first = (queue->first + 1) % CALLS_MAX;
    queue->count--;
}

static void serve(int listener, long long delay)
{
    static struct queue queue;

    for (;;) {
        struct pollfd calls = {.fd = listener, .events = queue.count < CALLS_MAX ? POLLIN : 0};
        long long left = queue.count ? queue.calls[queue.first].due - now() : 0;
        struct timespec wait = {.tv_nsec = left > 0 ? left % 1000000000 : 0};

        wait.tv_sec = left > 0 ? left / 1000000000 : 0;
        if (ppoll(&calls, 1, queue.count ? &wait : NULL, NULL) > 0 && (calls.revents & POLLIN))
            take(listener, &queue, delay);
        while (queue.count && queue.calls[queue.first].due <= now())
            answer(listener, &queue);
    }
}

int main(int argc, char **argv)
{
    int listener;
    pid_t command = getpid();

    if (argc < 3)
        return 64;
    listener = hold_syncs();
    if (listener < 0)
        err(71, "seccomp");
    if (fork() == 0) {
        prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (getppid() == command)
            serve(listener, strtol(argv[1], NULL, 10) * NS_PER_MS);
        _exit(0);
    }
    execvp(argv[2], argv + 2);
    err(71, "%s", argv[2]);
}
