"""The ensemble, the machines around it, and the book of what happened to them."""
import contextlib
import dataclasses
import itertools
import os
import threading
from typing import Iterator, Optional, Sequence

import zookeeper
from hosts import Host
from kinds import (FAIR, NESTED, PAIR, SEMAPHORE, SHARED, STYLES, UNFAIR, Kind)
from locks import Lock
from network import PREFIX, Network
from runs import Tools
from servers import NAMES, Servers
from world import EXPIRY, LEASE, now

# Locks and their kinds.  Those of a row are struck by one scenario at a time; what is in no row
# sees faults of the ensemble only.
KINDS_OF_LOCKS = {
    "1": FAIR, "2": FAIR, "3": FAIR, "4": FAIR, "5": STYLES, "6": SHARED, "7": UNFAIR,
    "8": SEMAPHORE, "9": PAIR, "10": PAIR, "11": NESTED}
ROWS = [["1", "6"], ["2", "7"], ["3", "8"], ["4", "11"], ["9", "10"]]
CONTENDERS = sum(kind.crowd for kind in KINDS_OF_LOCKS.values())
# Where scenarios play; one for each of those that run at the same time, and spares.
STAGES = 12


@dataclasses.dataclass
class Violation:
    invariant: str
    text: str
    at: float
    lock: Optional[Lock] = None

    def __str__(self) -> str:
        return f"{self.invariant}: {self.text}"


@dataclasses.dataclass
class Fault:
    number: int
    name: str
    at: float
    lock: Optional[Lock] = None


class Book:
    """Several scenarios write into it at once."""

    def __init__(self, control: bool = False) -> None:
        """control: locks are expected to fail; only the payload's own verdict is wanted."""
        self.control = control
        self.guard = threading.Lock()
        self.violations: list[Violation] = []
        self.faults: list[Fault] = []
        self.not_played: list[tuple[int, str, str]] = []  # number, name, why
        self.disturbances: list[list[float]] = []  # [from, to) of faults of the whole ensemble
        self.takeovers: list[tuple[str, float]] = []  # after which fault, seconds
        self.margins: list[float] = []  # seconds from "tree empty" to "lease ends", by zkflock
        self.cut_margins: list[float] = []  # the same counted from the cut, by the harness
        self.struck: list[tuple[Lock, float]] = []  # locks, and when a holder or waiter was hit

    def violation(self, invariant: str, text: str, quiet: bool = False,
                  lock: Optional[Lock] = None) -> None:
        if self.control and invariant != "harness":
            return
        with self.guard:
            self.violations.append(Violation(invariant, text, now(), lock))
        if not quiet:
            print(f"  VIOLATION {invariant}: {text}", flush=True)

    @contextlib.contextmanager
    def disturbance(self) -> Iterator[None]:
        """While the body runs, and until its sessions may have expired, anybody may lose a lock."""
        span = [now(), float("inf")]
        with self.guard:
            self.disturbances.append(span)
        try:
            yield
        finally:
            span[1] = now() + EXPIRY

    def disturbed(self, since: float, to: Optional[float] = None) -> bool:
        end = now() if to is None else to
        with self.guard:
            return any(span[0] < end and span[1] > since for span in self.disturbances)


class Cluster:
    def __init__(self, directory: str, build: str, seed: int, options: Sequence[str] = (),
                 control: bool = False) -> None:
        self.seed = seed
        self.directory = directory
        self.group = os.path.basename(self.directory)
        self.book = Book(control)
        self.private = itertools.count(1)
        self.hosts: list[Host] = []
        self.stages: list[Host] = []
        names = {name: f"{PREFIX}.0.{i}" for i, name in enumerate(NAMES, 1)}
        names |= {f"h{i:02}": f"{PREFIX}.1.{i}" for i in range(1, CONTENDERS + 1)}
        names |= {f"v{i:02}": f"{PREFIX}.2.{i}" for i in range(1, STAGES + 1)}
        self.network = Network(names)
        for name, address in names.items():
            if name[0] in "hv":
                host = Host(name, address, self.group)
                (self.hosts if name[0] == "h" else self.stages).append(host)
        os.mkdir(f"{self.directory}/runs", 0o755)
        self.tools = Tools(build, f"{self.directory}/runs", options)
        if "--lease" in self.tools.help:
            self.tools.options += ["--lease", f"{LEASE:g}s"]
        self.servers = Servers(f"{self.directory}/ensemble", names)
        self.zookeeper = zookeeper.Administrator(self.servers.list)
        self.locks: list[Lock] = []
        named = {name: self.new_lock(name, kind=kind) for name, kind in KINDS_OF_LOCKS.items()}
        self.busy_locks = self.locks[:]
        pairs = [lock for lock in self.busy_locks if lock.kind is PAIR]
        for one, other in zip(pairs[::2], pairs[1::2], strict=True):
            one.pair_with(other)
        self.rows = [[named[name] for name in row] for row in ROWS]
        self.struck_locks = [lock for row in self.rows for lock in row]
        self.free_stages = list(self.stages)
        self.taking = threading.Condition()

    def new_lock(self, name: str, fragile: bool = False, kind: Kind = FAIR) -> Lock:
        lock = Lock(self.directory, name, fragile, kind)
        if kind.ready_made:
            self.zookeeper.make_lock(lock.path, LEASE)
        with self.book.guard:
            self.locks.append(lock)
        return lock

    def private_lock(self, fragile: bool = False, kind: Kind = FAIR) -> Lock:
        """One that no contender waits for."""
        name = f"private-{next(self.private)}"
        lock = self.new_lock(name, fragile, kind)
        if kind is PAIR:
            lock.pair_with(self.new_lock(f"{name}-other", fragile, kind))
        return lock

    @contextlib.contextmanager
    def stage(self) -> Iterator[Host]:
        """A machine for a scenario; nothing runs on it before and after."""
        with self.taking:
            self.taking.wait_for(lambda: self.free_stages)
            host = self.free_stages.pop(0)
        try:
            yield host
        finally:
            host.power_off()
            with self.taking:
                self.free_stages.append(host)
                self.taking.notify()
