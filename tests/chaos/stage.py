"""What a scenario plays on: a lock, a machine, and the expectations it can voice."""
import dataclasses
import random
from typing import Callable, Optional

from cluster import Cluster, Fault
from hosts import Host
from kinds import FAIR, Kind, Manner
from locks import Lock
from makings import draw_lease
from runs import Run
from world import EXPIRY, SLACK, now, until

EXIT_OSERR, EXIT_INTERNAL, EXIT_LOST, EXIT_UNREACHABLE = 71, 70, 75, 69
# How long it may take to kill a tree "at once": notice, list, kill.
AT_ONCE = 1.0
# From the death of the tree to zkflock's own end: it may still try to reach the ensemble.
FAREWELL = 15.0
# Longer than an expiry, after which the next one starts where there is no lease.
CONTROL_HOLD = EXPIRY + 3


class NotPlayed(Exception):
    """The scenario's situation did not arise, for the reason given; no verdict."""


@dataclasses.dataclass
class Scenario:
    number: int
    name: str
    invariants: str
    on_ensemble: bool  # strikes servers: one such scenario at a time
    play: Callable[["Stage"], None]
    corner: bool = False  # has a cast and locks of its own, and takes its time


SCENARIOS: list[Scenario] = []


def scenario(number: int, name: str, invariants: str, on_ensemble: bool = False,
             corner: bool = False):
    """Registers a function as a scenario, under its number in the list of faults."""
    def enter(play: Callable[["Stage"], None]) -> Callable[["Stage"], None]:
        SCENARIOS.append(Scenario(number, name, invariants, on_ensemble, play, corner))
        return play
    return enter


class Stage:
    def __init__(self, cluster: Cluster, host: Host, lock: Lock, rng: random.Random,
                 played: Scenario) -> None:
        self.cluster = cluster
        self.network = cluster.network
        self.servers = cluster.servers
        self.zookeeper = cluster.zookeeper
        self.book = cluster.book
        self.host = host
        self.lock = lock
        self.rng = rng
        self.played = played
        # Of the locks that it makes: with a cast of its own anybody's, else those of its lock.
        self.access = rng.choice(cluster.hand) if played.corner else lock.access
        # One for all of its runs on that lock, of which the next may follow on the one before.
        self.manner = lock.kind.draw(lock, rng, False)
        self.since = now()
        self.fault: Optional[Fault] = None

    def kind(self) -> str:
        """Of the lock that was struck, which may be one of the scenario's own."""
        lock = self.fault.lock if self.fault and self.fault.lock else self.lock
        return f"{lock.path}: {lock.kind.name}, {lock.making.name}, ACL {lock.access.name}"

    # ---- times ----

    @property
    def lease(self) -> float:
        """Returns the lease of the stage's lock and of the scenario's own ones, in seconds."""
        return self.cluster.lease(self.lock, self.manner)

    def vanished_on(self, lock: Lock) -> float:
        """Returns the seconds until somebody holds this lock after its holder vanished."""
        return EXPIRY + self.cluster.waits(lock) + SLACK

    @property
    def vanished(self) -> float:
        return self.vanished_on(self.lock)

    @property
    def cut_off(self) -> float:
        """Returns the same where the network came back early, which may have kept the session."""
        return self.vanished + self.lease

    # ---- acts ----

    def private_lock(self, fragile: bool = False, kind: Kind = FAIR, **options) -> Lock:
        """Makes a lock that nobody else waits for."""
        options.setdefault("lease", self.lease)
        options.setdefault("access", self.access)
        return self.cluster.private_lock(fragile, kind, **options)

    def run(self, hold: float, servers: Optional[str] = None, lock: Optional[Lock] = None,
            host: Optional[Host] = None, manner: Optional[Manner] = None, **options) -> Run:
        lock = lock or self.lock
        if manner is None:
            manner = self.manner if lock is self.lock else lock.kind.draw(lock, self.rng, False)
        options.setdefault("lease", draw_lease(self.rng))
        options.setdefault("tls", lock.access.draws_tls(self.rng))
        return Run(self.cluster.tools, host or self.host, lock,
                   servers or self.servers.shuffled(self.rng), hold, watch=True, manner=manner,
                   **options)

    def hold(self, hold: float = 60.0, **options) -> Run:
        """A run whose payload has begun."""
        if self.book.control:
            hold = CONTROL_HOLD  # it comes to its write, after the next holder's
        run = self.run(hold, **options)
        self.await_begin(run)
        return run

    def await_begin(self, run: Run) -> None:
        patience = 4 * self.vanished
        until(lambda: run.begun() or run.process.poll() is not None, patience)
        if run.begun():
            return
        if not self.disturbed():
            self.violated("L", f"{run.who} does not get {run.lock.path} within {patience:g} s: "
                               f"{run.messages()}")
        raise NotPlayed("no lock while the ensemble is disturbed")

    def begun(self, lock: Lock) -> float:
        """Notes the fault; returns the time."""
        at = now()
        with self.book.guard:
            if self.fault is None:
                self.fault = Fault(self.played.number, self.played.name, at, lock)
                self.book.faults.append(self.fault)
        return at

    def struck(self, lock: Optional[Lock] = None) -> float:
        """Notes a fault that hits a holder or waiter; returns the time."""
        at = self.begun(lock or self.lock)
        with self.book.guard:
            self.book.struck.append((lock or self.lock, at))
        return at

    def left_in(self, lock: Lock) -> list[str]:
        """Paths of the contenders' znodes."""
        return [f"{path}/{name}" for one in lock.linked() for path in one.queues()
                for name in self.zookeeper.contenders(path)]

    # ---- verdicts ----

    def disturbed(self) -> bool:
        """Whether the ensemble had a fault of its own meanwhile."""
        return self.book.disturbed(self.since)

    def violated(self, invariant: str, text: str, lock: Optional[Lock] = None) -> None:
        """lock: the one of which that was seen; None: the one of the stage."""
        self.book.violation(invariant, f"fault {self.played.number}, {self.played.name}: {text}",
                            lock=lock or self.lock)

    def expect(self, truth: bool, invariant: str, text: str, lock: Optional[Lock] = None) -> None:
        if not truth:
            self.violated(invariant, text, lock)

    def dead_by(self, run: Run, deadline: float) -> None:
        """Expects that nothing of the payload's tree is alive at that time, whatever else happens."""
        if self.book.control:
            run.await_empty(deadline + EXPIRY)
            return
        if run.await_empty(deadline + 20) is None:
            self.violated("O", f"{run.who}: the tree is alive 20 s after the lease ended: "
                               f"{run.messages()}")
        elif run.empty_at > deadline:
            self.violated("O", f"{run.who}: the tree was alive until "
                               f"{run.empty_at - deadline:.3f} s after the end: {run.messages()}")

    def dead_in_lease(self, run: Run, cut_at: float) -> None:
        """Expects an end at most one lease after the cut, as no proof was sent after it."""
        ends = cut_at + self.cluster.lease(run.lock, run.manner)
        self.dead_by(run, ends)
        if run.empty_at:
            with self.book.guard:
                self.book.cut_margins.append(ends - run.empty_at)

    def dies_cut_off(self, variants: list[str], how) -> None:
        """A holder whose command is of these variants is cut off until nothing of it is left."""
        run = self.hold(variants=variants)
        with how as cut_at:
            self.struck()
            self.dead_in_lease(run, cut_at)
        self.lost(run)
        self.taken_over("client cut off", cut_at, self.cut_off)

    def ends(self, run: Run, *statuses: int, message: str = "", within: float = FAREWELL
             ) -> None:
        """The run is over soon, with one of the statuses, and says why.

        A fault of the ensemble's own may come first, and is then the reason that is told.
        """
        if self.book.control:
            return
        status = run.status(within)
        reasons = (message, "lost") if self.disturbed() else (message,)
        margin = run.margin()
        # A faked clock that jumped by an hour cannot tell how late anything was.
        if margin is not None and not run.lock.fragile and margin > -1800:
            with self.book.guard:
                self.book.margins.append(margin)
        if status is None:
            self.violated("E", f"{run.who} does not end within {within:g} s: {run.messages()}")
        elif status not in statuses:
            self.violated("E", f"{run.who} ends with {status}, not with one of "
                               f"{statuses}: {run.messages()}")
        elif not any(reason in run.messages() for reason in reasons):
            self.violated("E", f"{run.who} does not say '{message}' but: {run.messages()}")
        elif status == 0 and not run.ended() and not run.may_be_cut_short():
            self.violated("E", f"{run.who} ends with 0 without a whole run: {run.messages()}")

    def survives(self, run: Run, within: float, *others: int) -> None:
        """The command never notices; or, where the ensemble was struck as well, is ended in time.

        others: what is right besides.
        """
        if run.status(within) is None and self.disturbed():
            run.status(2 * self.vanished)  # its session may have gone with the fault, and its place
        disturbed = (EXIT_LOST, EXIT_UNREACHABLE) if self.disturbed() else ()
        self.ends(run, 0, *others, *disturbed, within=0.1)

    def lost(self, run: Run, message: str = "lost") -> None:
        self.ends(run, EXIT_LOST, message=message)

    def taken_over(self, kind: str, at: float, bound: float) -> None:
        """The next holder starts; how long it took goes into the report."""
        begin = self.lock.await_next(at, bound + 30)
        if self.disturbed():
            return
        if begin is None:
            self.violated("L", f"nobody holds {self.lock.path} {bound + 30:g} s later")
            return
        if self.manner.alone:
            with self.book.guard:
                self.book.takeovers.append((kind, begin - at))
        self.expect(begin - at <= bound, "L", f"the next holder of {self.lock.path} starts after "
                    f"{begin - at:.1f} s, not within {bound:.1f} s")


# A holder whose place is given back by whoever is left of it.
RELEASED = SLACK
