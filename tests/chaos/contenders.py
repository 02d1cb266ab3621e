"""The crowd: one contender on each client machine, which takes its lock again and again."""
import os
import random
import threading
import traceback

from cluster import Cluster
from hosts import Host
from locks import Lock
from makings import EXIT_CONFIG, draw_lease
from runs import Operation, Run
from world import now

# Longer than any wait that the bounds allow; a contender that waits longer is stuck.
PATIENCE = 180.0


class Contender:
    def __init__(self, cluster: Cluster, host: Host, lock: Lock, over: threading.Event) -> None:
        self.cluster = cluster
        self.host = host
        self.lock = lock
        self.over = over
        self.rng = random.Random(f"{cluster.seed}/{host.name}")
        self.operations: list[Operation] = []
        self.thread = threading.Thread(target=self.loop, daemon=True)

    def hold_time(self) -> float:
        """Mostly short; now and then long enough to be hit by faults of the ensemble."""
        kind = self.rng.random()
        if kind < 0.8:
            return self.rng.uniform(0.01, 0.15)
        return self.rng.uniform(0.2, 0.8) if kind < 0.95 else self.rng.uniform(1, 2.5)

    def loop(self) -> None:
        try:
            while not self.over.is_set():
                self.turn()
        except Exception:  # one that is gone unseen would be missed by nobody
            traceback.print_exc()
            self.cluster.book.violation("harness", f"a contender of {self.lock.path} broke off")

    def turn(self) -> None:
        manner = self.lock.kind.draw(self.lock, self.rng, True)
        run = Run(self.cluster.tools, self.host, self.lock,
                  self.cluster.servers.shuffled(self.rng), self.hold_time(), manner=manner,
                  lease=draw_lease(self.rng), tls=self.lock.access.draws_tls(self.rng))
        status = run.status(PATIENCE)
        if status is None:
            run.destroy()
        messages = run.messages()
        self.operations.append(
            Operation(run.who, self.lock, manner, run.started, now(), status, messages,
                      run.asked))
        margin = run.margin()
        if margin is not None:
            with self.cluster.book.guard:
                self.cluster.book.margins.append(margin)
        if status in (0, EXIT_CONFIG):
            # Kept in one file, to look up an overlap with a holder that noticed nothing.
            self.lock.note(f"{run.who}:\n{messages}")
            os.remove(run.errors)
        if status == EXIT_CONFIG:
            self.over.wait(self.rng.uniform(0, 2))  # a refusal takes no time


class Crowd:
    def __init__(self, cluster: Cluster) -> None:
        self.over = threading.Event()
        self.cluster = cluster
        wanted = [lock for lock in cluster.busy_locks for _ in range(lock.kind.crowd)]
        self.contenders = [Contender(cluster, host, lock, self.over)
                           for host, lock in zip(cluster.hosts, wanted, strict=True)]
        for contender in self.contenders:
            contender.thread.start()

    def disperse(self) -> None:
        """Lets everybody finish what is under way."""
        self.over.set()
        deadline = now() + PATIENCE
        for contender in self.contenders:
            contender.thread.join(max(0.0, deadline - now()) + 5)

    def operations(self) -> list[Operation]:
        return [operation for contender in self.contenders for operation in contender.operations]
