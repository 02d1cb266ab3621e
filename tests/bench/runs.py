"""Whole runs of zkflock and others: their time, CPU and memory, and what they read."""
import contextlib
import ctypes
import os
import resource
import socket
import statistics
import subprocess
import threading
import time

import handover
import processes
from servers import Site

SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER, see prctl(2)
NUMBERED = "_c_00000000000000000000000000000000-lock-"  # as Curator and zkflock name contenders
INCREMENT = 'read -r n <"$1"; echo $((n + 1)) >"$1"'


def timed(argv: list[str], environ: dict[str, str]) -> float:
    """Seconds of one run."""
    nowhere = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (0, 1, 2)]
    start = time.perf_counter()
    pid = os.posix_spawnp(argv[0], argv, environ, file_actions=nowhere, setsid=True)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 0:
        raise processes.Failure(f"{argv[0]} failed with status {status}")
    return time.perf_counter() - start


def pairs(site: Site, a: list[str], b: list[str], rounds: int) -> list[tuple[float, float]]:
    """Seconds of both in turn, A B A B ..."""
    return [(timed(a, site.environ), timed(b, site.environ)) for _ in range(rounds)]


def ratio(times: list[tuple[float, float]]) -> float:
    return statistics.median(a / b for a, b in times)


def cpu(site: Site, argv: list[str], rounds: int) -> float:
    """CPU seconds of so many runs, with all that they leave behind."""
    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    library = ctypes.CDLL(None)
    library.prctl(SUBREAPER, 1, 0, 0, 0)
    before = used()
    for _ in range(rounds):
        timed(argv, site.environ)
    time.sleep(0.5)
    while os.waitpid(-1, os.WNOHANG)[0]:  # etcd goes on, so there are children
        pass
    library.prctl(SUBREAPER, 0, 0, 0, 0)
    return used() - before


def loop_time(site: Site, loops: int, runs: int, argv: list[str]) -> float:
    start = time.perf_counter()
    processes.loops(loops, runs, argv, env=site.environ)
    return time.perf_counter() - start


def increments(site: Site, argv: list[str], loops: int, count: int) -> tuple[float, int]:
    """Whole time of the loops in seconds, and how many increments were lost."""
    counter = site.file("counter")
    with open(counter, "w") as f:
        f.write("0\n")
    seconds = loop_time(site, loops, count, [*argv, "sh", "-c", INCREMENT, "sh", counter])
    with open(counter) as f:
        return seconds, count - int(f.read())


def kill(site: Site) -> float:
    """Milliseconds from the kill -9 of a holder to the start of the next command."""
    lock, held, file = site.fresh(), site.file("held"), site.file("stamps")
    stamp = site.tool("stamp")
    holder = processes.start([site.zkflock, f"/{lock}", stamp, held, "60000"], env=site.environ)
    while not os.path.exists(held):
        time.sleep(0.01)
    waiter = processes.start([site.zkflock, f"/{lock}", stamp, file, "0"], env=site.environ)
    handover.await_znodes(site, lock, 2)
    time.sleep(0.1)
    killed = time.monotonic_ns()
    holder.kill()
    holder.wait()
    processes.finish(waiter)
    return (handover.stamps(file)[0][0] - killed) / 1e6


def pss(pid: int) -> int:
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("Pss:"))


def tree(pid: int) -> list[int]:
    """A process and all that descend from it."""
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        children = [int(child) for child in f.read().split()]
    return [pid] + [member for child in children for member in tree(child)]


def waiter_memory(site: Site, waiters: int) -> float:
    """MiB of keeper and guard, the mean of many that wait in one queue."""
    lock, gate = site.fresh(), site.file("gate")
    command = [site.tool("stamp"), site.file("stamps"), "0", gate]
    holder = handover.line_up(site, handover.ZKFLOCK, lock, 1, command)
    queue = [processes.start([site.zkflock, f"/{lock}", *command], env=site.environ)
             for _ in range(waiters)]
    handover.await_znodes(site, lock, waiters + 1)
    time.sleep(0.5)
    total = sum(pss(pid) for process in queue for pid in tree(process.pid))
    with open(gate, "x"):
        pass
    for process in holder + queue:
        processes.finish(process)
    return total / waiters / 1024


class Relay:
    """Passes one connection on to a server; counts the bytes that come from there."""

    def __init__(self, server: str):
        host, _, port = server.rpartition(":")
        self._server = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.read = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        client, _ = self._listener.accept()
        server = socket.create_connection(self._server)
        threading.Thread(target=self._send, args=(client, server), daemon=True).start()
        with contextlib.suppress(OSError), client:
            while data := server.recv(1 << 16):
                self.read += len(data)
                client.sendall(data)

    @staticmethod
    def _send(client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError), server:
            while data := client.recv(1 << 16):
                server.sendall(data)


def arrival(site: Site, queue: int) -> int:
    """Bytes that zkflock reads until it waits at the end of a queue."""
    lock = site.fresh()
    crowd = processes.start([f"{site.build}/zk", site.zookeeper, "contend", f"/{lock}", NUMBERED,
                             str(queue)], stdin=subprocess.PIPE)
    handover.await_znodes(site, lock, queue)
    relay = Relay(site.zookeeper)
    # Not with -v, which reads the list once more to name the holder.
    waiter = processes.start([site.zkflock, "-z", relay.address, f"/{lock}", "true"],
                             env=site.environ)
    handover.await_znodes(site, lock, queue + 1)
    read = 0
    while read != relay.read or not read:
        read = relay.read
        time.sleep(2)
    processes.end([waiter, crowd])
    return read
