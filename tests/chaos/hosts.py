"""Client machines, and what runs on them.

A machine is a network namespace and a cgroup, by which all of it can be frozen, starved or
powered off at once.
"""
import contextlib
import os
import subprocess
from typing import Iterator

from cgroups import mount_of
from network import enter
from world import read, until, write


class Host:
    def __init__(self, name: str, address: str, group: str) -> None:
        """group: the name of the run's cgroup."""
        self.name = name
        self.address = address
        unified = mount_of("cgroup2")
        assert unified, "no cgroup2 file system is mounted"
        self.cgroup = f"{unified}/{group}/{name}"
        self.group = group
        os.makedirs(self.cgroup)

    def popen(self, argv: list[str], **options) -> subprocess.Popen:
        """Starts it there, without a terminal; the pid is the command's own."""
        argv = ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', self.cgroup,
                *enter(self.name), *argv]
        return subprocess.Popen(argv, start_new_session=True, **options)

    def pids(self) -> list[int]:
        return [int(pid) for pid in read(f"{self.cgroup}/cgroup.procs").split()]

    def power_off(self) -> None:
        """Kills everything there in one instant."""
        write(f"{self.cgroup}/cgroup.kill", "1")

    def freeze(self, frozen: bool) -> None:
        write(f"{self.cgroup}/cgroup.freeze", str(int(frozen)))
        state = f"frozen {int(frozen)}"
        assert until(lambda: state in read(f"{self.cgroup}/cgroup.events"), 5), "not frozen"

    @contextlib.contextmanager
    def starved(self, percent: float, hogs: int) -> Iterator[None]:
        """Lets all processes there share that part of one processor, with that many busy loops."""
        parent = mount_of("cgroup", "cpu")
        if parent:
            cgroup, quota = f"{parent}/{self.group}-{self.name}", "cpu.cfs_quota_us"
            os.makedirs(cgroup)
        else:
            cgroup, quota = self.cgroup, "cpu.max"
            write(f"{os.path.dirname(cgroup)}/cgroup.subtree_control", "+cpu")
        procs = [self.popen(["sh", "-c", "while :; do :; done"]) for _ in range(hogs)]
        try:
            write(f"{cgroup}/{quota}", str(int(percent * 1000)))
            if parent:
                for pid in self.pids():
                    with contextlib.suppress(ProcessLookupError):
                        write(f"{cgroup}/cgroup.procs", str(pid))
            yield
        finally:
            write(f"{cgroup}/{quota}", "-1" if parent else "max")
            for proc in procs:
                proc.kill()
                proc.wait()
            if parent:
                self.leave(cgroup, parent)

    @staticmethod
    def leave(cgroup: str, parent: str) -> None:
        def empty() -> bool:
            for pid in read(f"{cgroup}/cgroup.procs").split():
                with contextlib.suppress(ProcessLookupError):
                    write(f"{parent}/cgroup.procs", pid)
            with contextlib.suppress(OSError):
                os.rmdir(cgroup)
            return not os.path.exists(cgroup)

        assert until(empty, 5), f"{cgroup} does not get empty"
