"""Plays a cast of contenders on locks of their own.

Each part is drawn before anything starts: when the contender comes, on which terms, and how it
vanishes, if it does.
"""
from __future__ import annotations

import contextlib
import dataclasses
import random
import signal
import threading
import time
import traceback
from typing import Callable, Optional

from hosts import Host
from kinds import Manner, careless
from locks import Lock
from makings import asked, draw_lease
from runs import Operation, Run
from stage import AT_ONCE, EXIT_LOST, FAREWELL, Stage
from world import EXPIRY, SLACK, now, until

# How long a command runs that a fault is to strike, in seconds.
UNTIL_STRUCK = 60.0
KILLED, TERMINATED = 128 + signal.SIGKILL, 128 + signal.SIGTERM


@dataclasses.dataclass(frozen=True)
class Part:
    """What one contender of the cast does."""
    lock: Lock
    manner: Manner
    lease: Optional[float]
    start: float  # seconds after the curtain
    hold: float
    fate: Optional["Fate"] = None
    strikes_holder: bool = True  # else the fault hits it wherever it stands
    delay: float = 0.0  # seconds until the fault
    absence: float = 0.0  # seconds that a fault lasts which hits no command
    variants: tuple[str, ...] = ()
    rounds: int = 1  # how often it comes

    @property
    def longest(self) -> float:
        """The seconds that its fate and its command take; one that is struck in the queue may stay
        there, and its command runs to its end."""
        return self.delay + (0 if self.fate and self.strikes_holder else self.absence + self.hold)


@dataclasses.dataclass(frozen=True)
class Fate:
    name: str
    strike: Callable[["Actor", Run], None]
    weight: float
    statuses: tuple[int, ...]  # that are right besides
    any_tree: bool = True  # a command that ignores TERM or leaves a daemon is ended as well


class Actor(threading.Thread):
    def __init__(self, stage: Stage, host: Host, part: Part, longest: float) -> None:
        """longest: the seconds that a run may take."""
        super().__init__(daemon=True)
        self.stage = stage
        self.host = host
        self.part = part
        self.longest = longest
        self.rng = random.Random(stage.rng.random())
        self.operations: list[Operation] = []

    def run(self) -> None:
        try:
            time.sleep(self.part.start)
            for _ in range(self.part.rounds):
                self.come()
                time.sleep(self.rng.uniform(0, 2))
        except Exception:  # the harness itself failed: that is no pass
            traceback.print_exc()
            self.stage.violated("harness", f"the part of {self.host.name} broke off")

    def come(self) -> None:
        part = self.part
        run = self.stage.run(part.hold, servers=self.stage.servers.shuffled(self.rng),
                             lock=part.lock, host=self.host, manner=part.manner, lease=part.lease,
                             variants=part.variants)
        if part.fate:
            if part.strikes_holder:
                until(lambda: run.begun() or run.process.poll() is not None, self.longest, 0.05)
            time.sleep(part.delay)
            if run.process.poll() is None:
                part.fate.strike(self, run)
        status = run.status(self.longest + (self.longest if self.stage.disturbed() else 0))
        if status is None:
            run.destroy()
        self.operations.append(Operation(run.who, part.lock, part.manner, run.started, now(),
                                         status, run.messages(), part.lease,
                                         part.fate.statuses if part.fate else ()))

    def struck(self) -> float:
        for lock in self.part.lock.taken_by(self.part.manner):
            at = self.stage.struck(lock)
        return at

    def suffers(self, run: Run, at: float) -> None:
        """Says that no proof is sent after that time: the command is dead one lease later."""
        time.sleep(0.3)  # a command that was about to start has started then
        if run.begun() and run.empty_at is None:
            self.stage.dead_in_lease(run, at)
        else:
            time.sleep(self.part.absence)


def cut_off(actor: Actor, run: Run) -> None:
    with actor.stage.network.cut(actor.host.name) as at:
        actor.struck()
        actor.suffers(run, at)


def stop_keeper(actor: Actor, run: Run) -> None:
    if run.signal(signal.SIGSTOP):
        actor.suffers(run, actor.struck())
        run.signal(signal.SIGCONT)


def freeze(actor: Actor, run: Run) -> None:
    """Of a waiter only: the command of a holder that is frozen past its lease cannot be ended in time."""
    actor.host.freeze(True)
    actor.struck()
    if not run.begun():
        time.sleep(actor.part.absence)
    actor.host.freeze(False)


def crash(actor: Actor, run: Run) -> None:
    at = actor.struck()
    actor.host.power_off()
    if run.begun() and run.empty_at is None:
        actor.stage.dead_by(run, at + AT_ONCE)


def kill_keeper(actor: Actor, run: Run) -> None:
    at = actor.struck()
    run.signal(signal.SIGKILL)
    if run.begun() and run.empty_at is None:
        actor.stage.dead_by(run, at + AT_ONCE)


def delete_node(actor: Actor, run: Run) -> None:
    """Only a holder has printed the name of its znode."""
    if run.begun() and not run.ended():
        actor.stage.zookeeper.delete(run.node())
        actor.suffers(run, actor.struck())


def terminate(_actor: Actor, run: Run) -> None:
    """The contender counts itself out: nobody vanishes."""
    run.signal(signal.SIGTERM)


FATES = (
    Fate("cut off", cut_off, 8, (EXIT_LOST,)),
    Fate("keeper stopped", stop_keeper, 4, (EXIT_LOST,)),
    Fate("host crashed", crash, 2, (KILLED,)),
    Fate("keeper killed", kill_keeper, 2, (KILLED,)),
    Fate("znode deleted", delete_node, 1, (EXIT_LOST,)),
    Fate("terminated", terminate, 4, (TERMINATED,), any_tree=False),
)
# Of the next in the queue.
FATES_OF_NEXT = (*FATES, Fate("frozen", freeze, 8, (EXIT_LOST,)))
TREES = ((), (), ("daemon",), ("deaf",), ("deaf", "daemon"))


def draw_part(rng: random.Random, lock: Lock, manner: Manner, fated: float = 0.5,
              latest: float = 6.0) -> Part:
    """fated: the probability that a fault strikes it; latest: seconds until it comes."""
    manner = careless(manner) if rng.random() < 0.1 else manner
    # If departures cannot be counted, every holder waits a lease for the one before.
    slow = not all(one.making.writable for one in lock.linked())
    part = Part(lock, manner, draw_lease(rng), start=rng.uniform(0, latest),
                hold=rng.uniform(0.05, 2), rounds=1 if slow else rng.choice([1, 2, 5]))
    if rng.random() >= fated:
        return part
    fate = rng.choices(FATES, [fate.weight for fate in FATES])[0]
    holds = rng.random() < (0.3 if fate.strike is terminate else 0.8)
    return dataclasses.replace(
        part, hold=UNTIL_STRUCK, fate=fate, strikes_holder=holds,
        delay=rng.uniform(0, 1.5 if holds else 8), absence=rng.uniform(1, 8),
        variants=rng.choice(TREES) if fate.any_tree else (),
        rounds=3 if fate.strike is terminate and not slow else 1)


def waits(stage: Stage, parts: list[Part]) -> float:
    """Returns the longest that one of them may wait for a holder that vanished, in seconds."""
    known = [stage.cluster.recorded_lease(one, part.manner.permit)
             for part in parts for one in part.lock.taken_by(part.manner)]
    longest = max([lease for lease in known if lease], default=0.0)
    if None in known:
        longest = max([longest, asked(None), *(asked(part.lease) for part in parts)])
    return longest


def longest(stage: Stage, parts: list[Part]) -> float:
    """Returns the seconds that a run may take: all others come first, at their slowest."""
    wait = waits(stage, parts)
    return sum(part.rounds * (EXPIRY + 2 * wait + part.longest) for part in parts) \
        + FAREWELL + SLACK


def play(stage: Stage, parts: list[Part]) -> None:
    """Plays all parts at once, waits until they end, and judges when each command started."""
    stage.lock = parts[0].lock
    stage.begun(stage.lock)
    limit = longest(stage, parts)
    with contextlib.ExitStack() as machines:
        actors = [Actor(stage, machines.enter_context(stage.cluster.stage()), part, limit)
                  for part in parts]
        for actor in actors:
            actor.start()
        for actor in actors:
            actor.join()
    note(stage, actors)
    left_behind(stage, parts)
    wait = waits(stage, parts)
    operations = [op for actor in actors for op in actor.operations]
    for op in operations:
        if op.status == 0 and not op.struck:
            in_time(stage, op, [other for other in operations if other is not op], wait)


def in_time(stage: Stage, op: Operation, others: list[Operation], wait: float) -> None:
    """L: a run waits for commands, and one lease for each contender that vanished or gave up; on a
    lock where departures cannot be counted, for each that left."""
    turn = op.lock.turn(op.who)
    if turn is None or stage.book.disturbed(op.started, turn.begin):
        return
    wait *= len(op.lock.linked())  # of two locks, a vanished holder is waited for on each in turn
    bound = SLACK + EXPIRY + wait
    for other in others:
        if other.started < turn.begin and other.finished > op.started:
            counted = other.status == 0 and all(one.making.writable for one in op.lock.linked())
            bound += 0 if counted else EXPIRY + wait
            for one in op.lock.linked():
                held = one.turn(other.who)
                if held:
                    bound += one.gone_by(held) - held.begin
    stage.expect(turn.begin - op.started <= bound, "L", f"{op.who} waited for {op.lock.path} for "
                 f"{turn.begin - op.started:.1f} s, {bound:.1f} s at most were due: {op.messages}")


def note(stage: Stage, actors: list[Actor]) -> None:
    """Hands the runs to the judge of exit statuses."""
    with stage.book.guard:
        for actor in actors:
            stage.cluster.operations += actor.operations


def left_behind(stage: Stage, parts: list[Part]) -> None:
    """L: no place in a queue outlives its session."""
    for lock in {part.lock.path: part.lock for part in parts}.values():
        gone = until(lambda: not stage.left_in(lock), EXPIRY + SLACK, 0.2)
        stage.expect(gone or stage.disturbed(), "L", f"left are {stage.left_in(lock)}")


def visit(stage: Stage, lock: Lock, manner: Manner) -> Operation:
    """Runs one contender when all others have gone."""
    part = Part(lock, manner, None, 0, 0.05)
    actor = Actor(stage, stage.host, part, longest(stage, [part]))
    actor.come()
    note(stage, [actor])
    return actor.operations[0]

