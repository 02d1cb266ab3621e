"""Faults 20 to 23: commands that are hard to end, whose host is cut off."""
import os
import time

from hung import HungFileSystem
from stage import AT_ONCE, NotPlayed, Stage, scenario
from world import now, read


def ended_in_lease(stage: Stage, *variants: str) -> None:
    stage.dies_cut_off(list(variants), stage.network.cut(stage.host.name))


@scenario(20, "the command leaves a daemon in another session", "M O")
def daemon(stage: Stage) -> None:
    ended_in_lease(stage, "daemon")


@scenario(21, "the command ignores TERM", "M O")
def deaf(stage: Stage) -> None:
    ended_in_lease(stage, "deaf", "daemon")


@scenario(21, "the command goes on forking", "M O")
def bomb(stage: Stage) -> None:
    ended_in_lease(stage, "bomb=8", *stage.rng.choice([[], ["deaf"]]))


@scenario(21, "the command is stopped", "M O")
def stopped(stage: Stage) -> None:
    ended_in_lease(stage, "stopped", *stage.rng.choice([[], ["deaf", "daemon"]]))


@scenario(23, "the command changes user", "M O")
def other_user(stage: Stage) -> None:
    ended_in_lease(stage, "nobody", *stage.rng.choice([[], ["deaf"], ["daemon"]]))


def state(pid: int) -> str:
    try:
        return read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


@scenario(22, "the command cannot be killed", "E")
def unkillable(stage: Stage) -> None:
    """The command hangs in a file system.  Its lock is lost, but zkflock does not take that for the end.

    On a lock of its own: the next holder has to overlap with it.
    """
    lock = stage.private_lock(fragile=True)
    try:
        hung = HungFileSystem(f"{stage.cluster.directory}/hung-{lock.name}")
    except SystemExit as reason:
        raise NotPlayed(str(reason)) from None
    try:
        run = stage.hold(variants=[f"hang={hung.directory}/file"], lock=lock)
        payload = run.turn().pid
        stage.expect(hung.asked.wait(5), "harness", "it does not hang")
        with stage.network.cut(stage.host.name) as cut_at:
            stage.struck(lock)
            time.sleep(stage.lease + stage.rng.uniform(1, 3))
        over = run.process.poll()
        if state(payload) != "D":
            raise NotPlayed("the kernel lets it be killed all the same")
        stage.expect(over is None, "E", f"zkflock ended with {over} {now() - cut_at:.1f} s after "
                     f"the cut, and its command is alive: {run.messages()}")
    finally:
        hung.let_go()
    let_go = now()
    stage.dead_by(run, let_go + AT_ONCE)
    stage.lost(run)
    os.rmdir(hung.directory)
