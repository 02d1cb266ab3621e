"""Hand-overs: the time from the end of one command to the start of the next, with zkflock and peers."""
import itertools
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from subprocess import Popen

import processes
from servers import HERE, Site

WAITERS = 40
COMMAND_MS = 50
BATCH = 50  # so many processes are started at once
QUEUE_SECONDS = 300  # for all of them to line up


def await_znodes(site: Site, lock: str, count: int) -> None:
    site.zk("await-count", f"/{lock}", str(count), str(QUEUE_SECONDS))


def poll(queued: Callable[[], int], count: int) -> None:
    deadline = time.monotonic() + QUEUE_SECONDS
    while (found := queued()) < count:
        if time.monotonic() > deadline:
            raise processes.Failure(f"{found} contenders in the queue, not {count}")
        time.sleep(0.02)


def await_keys(site: Site, lock: str, count: int) -> None:
    keys = ["etcdctl", "get", lock + "/", "--prefix", "--keys-only"]

    def queued() -> int:
        try:
            return len(processes.run(keys, env=site.environ).split())
        except processes.Failure:  # etcd has too much to do
            return 0

    poll(queued, count)


def await_flocks(site: Site, lock: str, count: int) -> None:
    def queued() -> int:
        try:
            inode = f":{os.stat(f'{site.directory}/{lock}').st_ino} "
        except FileNotFoundError:
            return 0
        with open("/proc/locks") as f:
            return sum(inode in line for line in f)

    poll(queued, count)


@dataclass(frozen=True)
class Peer:
    title: str
    # argv(site, lock, count) is what comes before the command; count contenders in one process, or
    # each process is one.
    argv: Callable[[Site, str, int], list[str]]
    await_queue: Callable[[Site, str, int], None] = await_znodes
    many: bool = False
    waiter_mib: float = 1  # that a machine should have for each waiter


ZKFLOCK = Peer("zkflock", lambda site, lock, _: [site.zkflock, f"/{lock}"])
# Without -- etcdctl takes the command's options for its own.
ETCDCTL = Peer("etcdctl lock", lambda _, lock, __: ["etcdctl", "lock", "--", lock], await_keys,
               waiter_mib=12)
KAZOO = Peer("kazoo + subprocess", lambda site, lock, count: [
    os.path.join(HERE, "kazoo_waiters.py"), site.zookeeper, f"/{lock}", str(count)], many=True)
with open(os.path.join(HERE, "..", "interop", "classpath")) as f:
    CLASSPATH = f.read().strip()
CURATOR = Peer("Curator + ProcessBuilder", lambda site, lock, count: [
    "java", "-Xss256k", "-cp", f"{site.build}/bench:{CLASSPATH}",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "CuratorWaiters", site.zookeeper, f"/{lock}",
    str(count)], many=True)
FLOCK = Peer("flock(1)", lambda site, lock, _: ["flock", f"{site.directory}/{lock}"], await_flocks)
FLOOR = "floor: delete -> event -> spawn"


def stamps(file: str) -> list[list[int]]:
    """Start and end of each command, in ns, in their order."""
    try:
        with open(file) as f:
            return sorted([int(word) for word in line.split()] for line in f)
    except FileNotFoundError:
        return []


def gaps(times: list[list[int]]) -> list[float]:
    """The ms from the end of each command to the start of the next; below 0 if they overlapped."""
    return [(after[0] - before[1]) / 1e6 for before, after in itertools.pairwise(times)]


def line_up(site: Site, peer: Peer, lock: str, count: int, command: list[str]) -> list[Popen]:
    """Starts so many contenders; returns when all of them are in the queue."""
    queue: list[Popen] = []
    try:
        if peer.many:
            queue = [processes.start(peer.argv(site, lock, count) + command, env=site.environ)]
            peer.await_queue(site, lock, count)
        while not peer.many and len(queue) < count:
            queue += [processes.start(peer.argv(site, lock, 1) + command, env=site.environ)
                      for _ in range(min(BATCH, count - len(queue)))]
            peer.await_queue(site, lock, len(queue))
    except processes.Failure:
        processes.end(queue, signal.SIGKILL)  # they would slow what is measured next
        raise
    return queue


def play(site: Site, peer: Peer, waiters: int, turns: int = 0) -> list[float]:
    """Returns the ms of the hand-overs in a queue of waiters; of the first turns alone if not 0."""
    lock, file, gate = site.fresh(), site.file("stamps"), site.file("gate")
    command = [site.tool("stamp"), file, str(COMMAND_MS), gate]
    queue = line_up(site, peer, lock, waiters + 1, command)
    time.sleep(0.5)
    with open(gate, "x"):
        pass
    if turns:
        while len(stamps(file)) <= turns:
            time.sleep(0.2)
        times = stamps(file)[:turns + 1]
        processes.end(queue)
    else:
        for process in queue:
            process.wait()
        times = stamps(file)
    return gaps(times)


def play_floor(site: Site) -> list[float]:
    file = site.file("stamps")
    printed = processes.run([site.tool("floor"), site.zookeeper, f"/{site.fresh()}", str(WAITERS),
                             str(COMMAND_MS), site.tool("stamp"), file, "0"], stderr=None)
    return [(start - int(deleted)) / 1e6
            for deleted, (start, _) in zip(printed.split(), stamps(file))]


def measure(site: Site, peers: list[Peer], rounds: int) -> dict[str, list[float]]:
    """Hand-overs by the peer's title and of the floor, all in turn; measured once for each site."""
    times = site.hand_overs
    missing = [peer for peer in peers if peer.title not in times]
    floor = FLOOR not in times
    for _ in range(rounds):
        for peer in missing:
            times.setdefault(peer.title, []).extend(play(site, peer, WAITERS))
        if floor:
            times.setdefault(FLOOR, []).extend(play_floor(site))
    return times
