"""Checks what a client without credentials may do to the znodes of contenders, and of their locks.

It asks for writes and deletes of a version that no znode has: a server looks at the rights first, so
nothing is written where it has them.
"""
import contextlib
import threading
from typing import Callable

import zookeeper
from cluster import Book
from locks import Lock

INTERVAL = 2.0  # seconds between looks
NO_VERSION = 0x40000000


def may(act: Callable[[], object]) -> bool:
    """Returns true unless the server refuses it for lack of rights."""
    try:
        act()
    except zookeeper.NoAuth:
        return False
    except zookeeper.BadVersion:
        pass
    return True


class Outsider:
    """While the body runs, tries now and then, and tells the book."""

    def __init__(self, servers: str, administrator: zookeeper.Administrator, locks: list[Lock],
                 book: Book) -> None:
        """locks: more may be added meanwhile."""
        self.client = zookeeper.client(servers)
        self.administrator = administrator
        self.locks = locks
        self.book = book
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self) -> "Outsider":
        self.client.start(60)
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.stopped.set()
        self.thread.join()
        self.client.stop()
        self.client.close()

    def watch(self) -> None:
        while not self.stopped.wait(INTERVAL):
            for lock in [one for one in self.locks if one.waiting]:
                # A server is away, in one of kazoo's many ways.
                with contextlib.suppress(*zookeeper.AWAY):
                    self.look_at(lock)

    def look_at(self, lock: Lock) -> None:
        for queue in lock.queues():
            for name in self.administrator.contenders(queue):
                with contextlib.suppress(zookeeper.NoNode):
                    self.attempt(lock, queue, f"{queue}/{name}")

    def attempt(self, lock: Lock, queue: str, node: str) -> None:
        """All that is asked of a contender's znode, which is gone at the first NoNode."""
        client, access = self.client, lock.access
        found = {"read": may(lambda: client.get(node)),
                 "write to": may(lambda: client.set(node, b"", NO_VERSION))}
        due = {"read": access.readable, "write to": access.writable}
        if not access.writable:
            found["delete"] = may(lambda: client.delete(node, NO_VERSION))
            found["write to the lock of"] = may(lambda: client.set(queue, b"", NO_VERSION))
            due["delete"] = due["write to the lock of"] = False
        self.book.attempts += 1
        for what, is_let in found.items():
            if is_let != due[what]:
                self.book.violation("A", f"a client without credentials may "
                                         f"{'' if is_let else 'not '}{what} {node}, of a lock with "
                                         f"the ACL {access.name}", lock=lock)
