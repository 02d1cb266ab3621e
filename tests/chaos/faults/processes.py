"""Faults 15 to 19, 28 and 32: zkflock's own processes are killed, stopped, frozen, told to end."""
import os
import signal
import time

from stage import (AT_ONCE, EXIT_INTERNAL, EXIT_LOST, FAREWELL, RELEASED, Stage,
                   scenario)
from world import EXPIRY, SESSION, SLACK, now, until

KILLED = 128 + signal.SIGKILL


@scenario(15, "the keeper is killed while the command runs", "M O L")
def keeper_killed(stage: Stage) -> None:
    run = stage.hold(variants=stage.rng.choice([[], ["daemon"], ["daemon", "deaf"]]))
    time.sleep(stage.rng.uniform(0, 2))
    at = stage.struck()
    run.signal(signal.SIGKILL)
    stage.dead_by(run, at + AT_ONCE)
    stage.ends(run, KILLED)
    stage.taken_over("keeper killed", at, RELEASED)


@scenario(15, "the keeper is killed in another phase", "M O L")
def keeper_killed_early(stage: Stage) -> None:
    """Connecting, joining, waiting, starting the command, giving back."""
    run = stage.run(0.02)
    time.sleep(stage.rng.choice([stage.rng.uniform(0, 0.1), stage.rng.uniform(0, 1.5)]))
    at = stage.struck()
    hit = run.signal(signal.SIGKILL)
    stage.ends(run, KILLED if hit else 0, 0)
    if run.begun() and run.empty_at is None:
        stage.dead_by(run, at + AT_ONCE)
    stage.taken_over("keeper killed early", at, stage.vanished)


@scenario(15, "the client's host crashes", "M L")
def host_crash(stage: Stage) -> None:
    run = stage.hold(variants=["daemon"])
    at = stage.struck()
    stage.host.power_off()
    stage.dead_by(run, at + AT_ONCE)
    stage.ends(run, KILLED)
    stage.taken_over("host crashed", at, stage.vanished)


@scenario(16, "the guard is killed", "M O E L")
def guard_killed(stage: Stage) -> None:
    run = stage.hold(variants=stage.rng.choice([[], ["daemon"], ["bomb=4"]]))
    guard = run.guard()
    at = stage.struck()
    os.kill(guard, signal.SIGKILL)
    stage.dead_by(run, at + AT_ONCE)
    stage.ends(run, EXIT_INTERNAL, EXIT_LOST, message="guard")
    stage.taken_over("guard killed", at, RELEASED)


@scenario(17, "the keeper is stopped for longer than the lease", "M O E L")
def keeper_stopped(stage: Stage) -> None:
    run = stage.hold(variants=stage.rng.choice([[], ["daemon", "deaf"]]))
    run.signal(signal.SIGSTOP)
    at = stage.struck()
    stage.dead_in_lease(run, at)
    stage.taken_over("keeper stopped", at, stage.vanished)
    run.signal(signal.SIGCONT)
    stage.lost(run)


@scenario(17, "the keeper is stopped shortly", "M E")
def keeper_stopped_shortly(stage: Stage) -> None:
    hold = stage.lease + 1
    run = stage.hold(hold)
    run.signal(signal.SIGSTOP)
    stage.struck()
    # Past two thirds of the session's timeout the connection is given up and made again.
    time.sleep(stage.rng.uniform(0.2, stage.lease / 3))
    run.signal(signal.SIGCONT)
    stage.survives(run, hold + 20)


@scenario(18, "the guard is stopped", "M O E")
def guard_stopped(stage: Stage) -> None:
    run = stage.hold(variants=stage.rng.choice([[], ["daemon"]]))
    guard = run.guard()
    os.kill(guard, signal.SIGSTOP)
    at = stage.struck()
    # What the guard was told before it stopped may have been sent a moment later.
    stage.dead_by(run, at + stage.lease + 0.5)
    stage.ends(run, EXIT_LOST, EXIT_INTERNAL)


@scenario(18, "the guard is stopped and the client cut off", "M O E L")
def guard_stopped_cut_off(stage: Stage) -> None:
    run = stage.hold(variants=["daemon"])
    guard = run.guard()
    with stage.network.cut(stage.host.name) as cut_at:
        os.kill(guard, signal.SIGSTOP)
        stage.struck()
        stage.dead_in_lease(run, cut_at)
    stage.ends(run, EXIT_LOST, EXIT_INTERNAL)
    stage.taken_over("client cut off", cut_at, stage.cut_off)


@scenario(19, "everything of a holder is frozen for longer than the lease", "O E")
def frozen(stage: Stage) -> None:
    """The one fault that no lock survives: zkflock must report it.

    It has a lock of its own, on which overlaps are expected.
    """
    lock = stage.private_lock(fragile=True)
    run = stage.hold(lock=lock)
    with stage.cluster.stage() as other:
        successor = stage.run(0.2, lock=lock, host=other)
        stage.host.freeze(True)
        stage.struck(lock)
        begun = until(successor.begun, stage.vanished + 2 * SLACK, 0.05)
        stage.expect(begun or stage.disturbed(), "L", "nobody takes over from a frozen holder")
        time.sleep(stage.rng.uniform(0, 1))
        stage.host.freeze(False)
        thawed = now()
        stage.dead_by(run, thawed + AT_ONCE)
        stage.lost(run)
        stage.survives(successor, FAREWELL + EXPIRY)
    # A contender that ran at the same time as the next holder says so.
    stage.expect("after the lease ended" in run.messages(), "E",
                 f"the overlap is denied: {run.messages()}")


@scenario(28, "a waiter is stopped as its turn comes, past its session", "M K L")
def waiter_stopped(stage: Stage) -> None:
    run = stage.run(0.1)
    time.sleep(stage.rng.uniform(0, 1.5))
    run.signal(signal.SIGSTOP)
    stage.struck()
    time.sleep(SESSION + stage.rng.uniform(1, 6))
    before = now()
    begun = run.begun()
    run.signal(signal.SIGCONT)
    # If its command ran before the stop, it may have been lost; if not, it starts with a new proof.
    stage.survives(run, 4 * stage.vanished, *([EXIT_LOST] if begun else []))
    turn = run.turn()
    stage.expect(turn is not None or stage.disturbed(), "L", f"{run.who} never ran: "
                 f"{now() - before:.1f} s after it went on: {run.messages()}")


@scenario(32, "TERM, INT or HUP at any time", "M L E")
def signals(stage: Stage) -> None:
    """While it connects, waits, starts, runs, gives back: a znode of its own is never left."""
    lock = stage.private_lock(kind=stage.lock.kind)
    number = stage.rng.choice([signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
    with stage.cluster.stage() as other:
        holder = stage.run(stage.rng.choice([0.01, 0.5]), lock=lock, host=other)
        run = stage.run(stage.rng.choice([0.01, 0.5]), lock=lock)
        time.sleep(stage.rng.uniform(0, 1.2))
        stage.struck(lock)
        sent = run.signal(number)
        stage.survives(run, FAREWELL, *([128 + number] if sent else []))
        ended = now()
        stage.survives(holder, FAREWELL + stage.vanished)
    gone = until(lambda: not stage.left_in(lock), SLACK, 0.05)
    stage.expect(gone or stage.disturbed(), "L", f"left are {stage.left_in(lock)} "
                 f"{now() - ended:.1f} s after {signal.Signals(number).name}: {run.messages()}")
