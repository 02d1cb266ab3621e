"""A place of its own for a run: namespaces for its processes, mounts and network.

Nothing of the machine's network is touched, names cannot clash with those of another run, and
whatever ends the run, its whole network and every process in it is gone with it.
"""
import contextlib
import ctypes
import os
import shutil
import signal
import sys
import tempfile
import traceback
from typing import Callable, Iterator

import cgroups

INTERRUPTED = 2
CLONE_NEWNS = 0x00020000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
MNT_FORCE, MNT_DETACH = 1, 2
PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), what)


def mount(source: str, target: str, kind: str, flags: int = 0, data: str = "") -> None:
    check(libc.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode()),
          f"mount {target}")


def unmount(target: str, flags: int = 0) -> None:
    check(libc.umount2(target.encode(), flags), f"unmount {target}")


def status_of(pid: int) -> int:
    """Reaps everything until this child ends."""
    while True:
        try:
            ended, status = os.wait()
        except InterruptedError:
            continue
        if ended == pid:
            return os.waitstatus_to_exitcode(status)


def child(run: Callable[[], int]) -> int:
    """Runs it in a child, which hears the signals that end us and does not outlive us."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            status = run()
        except SystemExit as end:
            print(end.code, file=sys.stderr)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda received, _: os.kill(pid, signal.SIGTERM))
    status = status_of(pid)
    return status if status >= 0 else 128 - status


@contextlib.contextmanager
def needs() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        sys.exit(f"chaos: {error}; it takes root and a kernel with namespaces to run this")


def inside() -> None:
    mount("none", "/", "none", MS_REC | MS_PRIVATE)
    mount("proc", "/proc", "proc")
    os.makedirs("/run/netns", exist_ok=True)
    mount("tmpfs", "/run/netns", "tmpfs")


def run(work: Callable[[str], int]) -> int:
    """Runs work(directory) in there; returns its status.

    However it ends, its processes, its network and its cgroups, which are named like the directory,
    are gone then; the directory stays if the status is 1, for who wants to know why.
    """
    if os.geteuid() != 0:
        sys.exit("chaos: this needs root, for network namespaces; nothing was run")
    directory = tempfile.mkdtemp(prefix="zkflock-chaos-")
    os.chmod(directory, 0o755)

    def outside() -> int:
        with needs():
            check(libc.unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID), "namespaces")
        return child(first_process)

    def first_process() -> int:
        with needs():
            inside()
        return child(worker)

    def worker() -> int:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda received, _: os._exit(INTERRUPTED))
        try:
            return work(directory)
        except Exception:
            print(f"chaos: logs are kept in {directory}")
            raise

    status = child(outside)
    cgroups.remove(os.path.basename(directory))
    if status != 1:
        shutil.rmtree(directory)
    return status
