"""Checks whether all servers show the same znodes.

A server that joins twice in a row may lose what was committed in between, for good, and goes on
serving (ZOOKEEPER-4785, ZOOKEEPER-5010).  No client can cause or repair that: a contender that knows no
other server waits for a znode that only that one has, and so do all behind it.
"""
import threading
from typing import Callable

import zookeeper
from locks import Lock
from servers import NAMES, Servers

INTERVAL = 5.0  # seconds between looks


def parted(views: list[tuple[str, dict[str, list[str]]]]) -> set[str]:
    """Returns the paths where servers differ for good.

    views: what each server shows, one after the other, and behind all that was committed before: a
    child that one shows before and after another one does not.  A name comes once, save --unfair's.
    """
    different = set()
    for i, (server, first) in enumerate(views):
        for j in range(i + 1, len(views)):
            again = [view for name, view in views[j + 1:] if name == server]
            other, between = views[j]
            if other == server or not again:
                continue
            for path in first.keys() & between.keys() & again[0].keys():
                extra = (set(first[path]) & set(again[0][path])) - set(between[path])
                if any("unfair" not in name for name in extra):
                    different.add(path)
    return different


class Replicas:
    """While the body runs, looks now and then, and tells the book of each lock."""

    def __init__(self, servers: Servers, owners: dict[str, Lock],
                 note: Callable[[Lock], None]) -> None:
        """owners: the lock by its queues' paths; note(lock): to be called if they differ there."""
        self.servers = servers
        self.owners = owners
        self.note = note
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self) -> "Replicas":
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.stopped.set()
        self.thread.join()

    def watch(self) -> None:
        paths = list(self.owners)
        while not self.stopped.wait(INTERVAL):
            try:
                views = [(name, zookeeper.shown_by(self.servers.address(name), paths, 3))
                         for name in NAMES + NAMES]
            except Exception:  # a server is away, in one of kazoo's many ways
                continue
            for path in parted(views):
                self.note(self.owners[path])
