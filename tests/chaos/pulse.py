"""Measures from outside for how long the ensemble committed nothing; the crowd writes all the time."""
import threading

from servers import NAMES, Servers
from world import now

INTERVAL = 0.1  # seconds between looks
# Commits further apart than this stand for a pause, which is over when they go on for a proof's
# time: a holder proves its lock every sixth of the lease, and has to find a server before.
PAUSE = 1.0
PROOF = 1.0


def standstill(commits: list[float], begin: float, end: float) -> float:
    """Returns the longest time between begin and end without commits, or with only a few."""
    spells: list[list[float]] = []
    for at in commits:
        if spells and at - spells[-1][1] <= PAUSE:
            spells[-1][1] = at
        else:
            spells.append([at, at])
    lasting = [[begin, begin]] + [s for s in spells if s[1] - s[0] >= PROOF] + [[end, end]]
    return max(after[0] - before[1] for before, after in zip(lasting, lasting[1:]))


class Pulse:
    """While the body runs, servers are asked for their newest transaction."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self.commits: list[float] = []
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.begin = self.end = now()

    def __enter__(self) -> "Pulse":
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.stopped.set()
        self.thread.join()
        self.end = now()

    def watch(self) -> None:
        newest = 0
        while not self.stopped.wait(INTERVAL):
            last = max(self.servers.last_zxid(name) for name in NAMES)
            if last > newest:
                newest = last
                self.commits.append(now())

    def standstill(self) -> float:
        return standstill(self.commits, self.begin, self.end)
