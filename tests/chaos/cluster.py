"""The ensemble, the machines around it, and the book of what happened to them."""
import contextlib
import dataclasses
import itertools
import os
import random
import threading
from typing import Iterator, Optional, Sequence

import zookeeper
from access import OPEN, Access, hand
from hosts import Host
from kinds import (FAIR, MIXED, NESTED, PAIR, PERMITS, SEMAPHORE, SHARED, STYLES, UNFAIR, Kind,
                   Manner)
from locks import Lock
from makings import BY_ZKFLOCK, OURS, Making
from network import PREFIX, Network
from runs import Operation, Tools
from servers import NAMES, Servers
from world import DEFAULT_LEASE, EXPIRY, now

# Seconds from when servers were seen to differ to what that may explain, and back: several turns.
PARTED = 90.0

# Locks and their kinds.  One scenario at a time strikes the locks of a row; a lock in no row sees
# only faults of the ensemble.
KINDS_OF_LOCKS = {
    "1": FAIR, "2": FAIR, "3": FAIR, "4": FAIR, "5": STYLES, "6": SHARED, "7": UNFAIR,
    "8": SEMAPHORE, "9": PAIR, "10": PAIR, "11": NESTED, "12": MIXED}
ROWS = [["1", "6"], ["2", "7"], ["3", "8"], ["4", "11"], ["9", "10"], ["12"]]
# The leases of their records, in seconds: short ones, for more faults in the same time.
LEASES = (5, 5.5, 6, 7)
CONTENDERS = sum(kind.crowd for kind in KINDS_OF_LOCKS.values())
# Where scenarios play; one for each of those that run at the same time, and spares.
STAGES = 60


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
        self.parted: list[tuple[Lock, float]] = []  # where servers differed, and when that was seen
        self.excused: list[Violation] = []  # by that
        self.attempts = 0  # of a client without credentials, on contenders' znodes

    def violation(self, invariant: str, text: str, quiet: bool = False,
                  lock: Optional[Lock] = None, at: Optional[float] = None) -> None:
        """at: the time that it happened; None: now."""
        if self.control and invariant != "harness":
            return
        violation = Violation(invariant, text, at or now(), lock)
        excused = invariant == "L" and lock is not None and self.is_parted(lock, violation.at)
        with self.guard:
            (self.excused if excused else self.violations).append(violation)
        if not quiet and not excused:
            print(f"  VIOLATION {invariant}: {text}", flush=True)

    def note_parted(self, lock: Lock) -> None:
        with self.guard:
            self.parted.append((lock, now()))

    def is_parted(self, lock: Lock, at: float) -> bool:
        """Returns true if servers differed there at about that time, give or take PARTED."""
        with self.guard:
            return any(one in lock.linked() and abs(at - seen) < PARTED
                       for one, seen in self.parted)

    @contextlib.contextmanager
    def disturbance(self) -> Iterator[None]:
        """Marks a time in which any contender may lose a lock: while the body runs, and until sessions that
        it cut off may have expired."""
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
        self.operations: list[Operation] = []  # of scenarios; the crowd has its own
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
        # With TLS, servers serve all clients by other code of theirs: now and then without.
        self.tls = seed % 3 != 0 and not control
        self.hand = hand(self.tls)
        self.servers = Servers(f"{self.directory}/ensemble", names, self.tls)
        self.tools = Tools(build, f"{self.directory}/runs", options, self.servers.keys,
                           self.servers.secure)
        self.zookeeper = zookeeper.Administrator(self.servers.list)
        self.locks: list[Lock] = []
        self.rng = random.Random(f"{seed}/locks")
        dealt = self.deal()
        named = {name: self.new_lock(name, kind=kind, access=dealt[name])
                 for name, kind in KINDS_OF_LOCKS.items()}
        self.busy_locks = self.locks[:]
        pairs = [lock for lock in self.busy_locks if lock.kind is PAIR]
        for one, other in zip(pairs[::2], pairs[1::2], strict=True):
            one.pair_with(other)
        self.rows = [[named[name] for name in row] for row in ROWS]
        self.struck_locks = [lock for row in self.rows for lock in row]
        self.free_stages = list(self.stages)
        self.taking = threading.Condition()

    def deal(self) -> dict[str, Access]:
        """Returns who may use each of the locks; those of a pair are taken by the same contenders."""
        rng = random.Random(f"{self.seed}/access")
        cards = rng.sample(self.hand, len(self.hand)) + rng.sample(self.hand, len(self.hand))
        dealt: dict[str, Access] = {}
        for name, kind in KINDS_OF_LOCKS.items():
            pair = [dealt[one] for one in dealt if KINDS_OF_LOCKS[one] is PAIR]
            dealt[name] = pair[-1] if kind is PAIR and len(pair) % 2 else cards.pop(0)
        return dealt

    def new_lock(self, name: str, fragile: bool = False, kind: Kind = FAIR, making: Making = OURS,
                 lease: Optional[float] = None, access: Access = OPEN) -> Lock:
        """lease: of its record, in seconds, if the administrator writes one; None: draws it."""
        lock = Lock(self.directory, name, fragile, kind, making, access)
        self.make(lock, lease or self.rng.choice(LEASES))
        self.recorded_lease(lock, kind is SEMAPHORE)
        with self.book.guard:
            self.locks.append(lock)
        return lock

    def make(self, lock: Lock, lease: float) -> None:
        making = lock.making
        acl = zookeeper.acl_of(lock.access, making.writable)
        if making == BY_ZKFLOCK:
            return
        if lock.kind is not SEMAPHORE:
            data = zookeeper.record(lease) if making.has_record else making.data
            self.zookeeper.make(lock.path, data, acl)
            return
        self.zookeeper.make(lock.path, "", acl)
        for child, permits in (("locks", 0), ("leases", PERMITS)):
            data = zookeeper.record(lease, permits) if making.has_record else making.data
            self.zookeeper.make(f"{lock.path}/{child}", data, acl)

    def recorded_lease(self, lock: Lock, permit: bool = False) -> Optional[float]:
        """Returns the lease in the lock's record, which never changes; None: no record yet."""
        path = lock.record_at(permit)
        if path not in lock.leases:
            lease = self.zookeeper.recorded_lease(path)
            if lease is None:
                return None
            lock.leases[path] = lease
        return lock.leases[path]

    def lease(self, lock: Lock, manner: Manner) -> float:
        """Returns how long a command may outlive its last proof: the least lease of its locks."""
        return min(self.recorded_lease(one, manner.permit) or DEFAULT_LEASE
                   for one in lock.taken_by(manner))

    def waits(self, lock: Lock) -> float:
        """Returns how long a vanished holder is waited for: of two locks, on each in turn."""
        return sum(max(one.leases.values(), default=DEFAULT_LEASE)
                   for one in lock.linked())

    def private_lock(self, fragile: bool = False, kind: Kind = FAIR, making: Making = OURS,
                     lease: Optional[float] = None, access: Access = OPEN) -> Lock:
        """Makes a lock that no contender of the crowd waits for."""
        if kind is PAIR:
            return self.private_pair((making, lease), (making, lease), access=access)[0]
        return self.new_lock(f"private-{next(self.private)}", fragile, kind, making, lease, access)

    def private_pair(self, *terms: tuple[Making, Optional[float]], access: Access) -> list[Lock]:
        """Makes two locks, in the order in which zkflock takes them: making and lease of each."""
        name = f"private-{next(self.private)}"
        locks = [self.new_lock(f"{name}{suffix}", kind=PAIR, making=making, lease=lease,
                               access=access)
                 for suffix, (making, lease) in zip(("", "-other"), terms, strict=True)]
        locks[0].pair_with(locks[1])
        return locks

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
