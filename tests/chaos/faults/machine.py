"""Faults 24 to 27: clocks, processors, memory, descriptors of the client's machine."""
import contextlib
import fcntl
import os
import resource
import struct
import time
from typing import Iterator

from runs import Run
from sandbox import MNT_DETACH, mount, unmount
from stage import (EXIT_LOST, EXIT_UNREACHABLE, FAREWELL, NotPlayed, Stage,
                   scenario)
from world import EXPIRY, SLACK, now, read

HOUR = 3600 * 10**9


class Clock:
    """Shifts the clocks of one run by a preloaded library; the payload keeps the real ones."""

    def __init__(self, stage: Stage) -> None:
        self.path = f"{stage.cluster.directory}/clock-{stage.host.name}"
        self.set(0, 0)
        self.environ = {"LD_PRELOAD": stage.cluster.tools.clock, "CHAOS_CLOCK": self.path}

    def set(self, wall: int, boot: int) -> None:
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        os.pwrite(fd, struct.pack("<qq", wall, boot), 0)
        os.close(fd)


@scenario(24, "the wall clock is set, both ways", "M E")
def wall_clock(stage: Stage) -> None:
    clock = Clock(stage)
    hold = stage.lease + 3
    run = stage.run(hold, environ=clock.environ)
    for offset in stage.rng.sample([HOUR, -HOUR], 2) + [0]:
        time.sleep(stage.rng.uniform(0.5, 2.5))
        stage.struck()
        clock.set(offset, 0)
    stage.survives(run, 4 * stage.vanished)


@scenario(25, "the clock jumps as after a suspend", "M O E")
def suspend(stage: Stage) -> None:
    """Past the lease: the command is ended as soon as anybody looks, which is at the next proof."""
    clock = Clock(stage)
    run = stage.hold(environ=clock.environ)
    time.sleep(stage.rng.uniform(0, 2))
    at = stage.struck()
    clock.set(HOUR, HOUR)
    # A real timer would have rung; the deadlines as they stood are the latest that is right.
    stage.dead_by(run, at + stage.lease)
    stage.lost(run)
    stage.taken_over("clock jumped", at, stage.vanished)


@scenario(26, "no processor", "M E")
def starved(stage: Stage) -> None:
    """The machine of a holder gets next to no time, and others want it."""
    hold = stage.lease + 5
    run = stage.hold(hold)
    percent = stage.rng.choice([3, 6, 12])
    try:
        with stage.host.starved(percent, hogs=2):
            stage.struck()
            time.sleep(stage.rng.uniform(4, stage.lease + EXPIRY))
    except (FileNotFoundError, PermissionError) as reason:
        raise NotPlayed(f"no control over the processor: {reason}") from None
    stage.ends(run, 0, EXIT_LOST, within=2 * stage.vanished + hold)


@contextlib.contextmanager
def full_pipe() -> Iterator[int]:
    """A pipe that nobody reads, and that is full."""
    reader, writer = os.pipe()
    try:
        os.set_blocking(writer, False)
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        with contextlib.suppress(BlockingIOError):
            while os.write(writer, b"x" * 4096):
                pass
        os.set_blocking(writer, True)
        yield writer
    finally:
        os.close(reader)
        os.close(writer)


def cut_off_and_dead(stage: Stage, run: Run) -> None:
    with stage.network.cut(stage.host.name) as cut_at:
        stage.struck()
        stage.dead_in_lease(run, cut_at)
    stage.ends(run, EXIT_LOST, within=FAREWELL + SLACK)
    stage.taken_over("client cut off", cut_at, stage.cut_off)


@scenario(27, "stderr is a full pipe", "M O E")
def stuck_stderr(stage: Stage) -> None:
    with full_pipe() as writer:
        # -vv: as much to say as there can be.
        run = stage.hold(variants=["daemon"], options=["-v"], stderr=writer)
        cut_off_and_dead(stage, run)


@contextlib.contextmanager
def full_disk(directory: str) -> Iterator[int]:
    """A file on a file system of its own, a small one, which is full.

    Where the scenario breaks off, what has the file open ends later: hence the detached mount.
    """
    os.mkdir(directory)
    mount("tmpfs", directory, "tmpfs", data="size=16k")
    fd = os.open(f"{directory}/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        with contextlib.suppress(OSError):
            while os.write(fd, b"x" * 4096):
                pass
        yield fd
    finally:
        os.close(fd)
        unmount(directory, MNT_DETACH)
        os.rmdir(directory)


@scenario(27, "stderr is a file on a full disk", "M O E")
def disk_full(stage: Stage) -> None:
    with full_disk(f"{stage.cluster.directory}/full-{stage.host.name}") as log:
        run = stage.hold(variants=["daemon"], options=["-v"], stderr=log)
        cut_off_and_dead(stage, run)


@scenario(27, "no descriptor is to be had", "M O E")
def no_descriptors(stage: Stage) -> None:
    """The limit comes while the command runs: neither keeper nor guard gets another one."""
    run = stage.hold(variants=["daemon"])
    for pid in (run.pid, run.guard()):
        limit = max(int(fd) for fd in os.listdir(f"/proc/{pid}/fd")) + 1
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, limit))
    cut_off_and_dead(stage, run)


def no_more_memory(pid: int) -> None:
    size = int(read(f"/proc/{pid}/statm").split()[0]) * resource.getpagesize()
    resource.prlimit(pid, resource.RLIMIT_AS, (size, size))


@scenario(27, "no memory is to be had", "M O E")
def no_memory(stage: Stage) -> None:
    run = stage.hold(variants=["daemon"])
    for pid in (run.guard(), run.pid):
        no_more_memory(pid)
    cut_off_and_dead(stage, run)


@scenario(27, "no memory, and the network is well", "M E")
def no_memory_alone(stage: Stage) -> None:
    """If zkflock cannot go on, it ends the command, and the status says so."""
    since = now()
    run = stage.hold(stage.lease + 2)
    no_more_memory(run.pid)
    stage.struck()
    status = run.status(stage.lease + 2 + FAREWELL)
    stage.expect(status is not None, "E", f"{run.who} hangs since {now() - since:.1f} s: "
                 f"{run.messages()}")
    if status == 0:
        stage.expect(run.ended(), "E", f"{run.who} ends with 0 without a whole run")
    stage.expect(status != EXIT_UNREACHABLE, "E", f"{run.who}: {run.messages()}")
