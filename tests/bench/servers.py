"""The servers of a measurement: ZooKeeper and etcd, as many of each, with the same disk."""
import itertools
import os
import signal
import socket
import subprocess
import time

import processes

HERE = os.path.dirname(os.path.abspath(__file__))
ENSEMBLE = os.path.join(HERE, "..", "ensemble")
# A server that has just started interprets what it will have compiled after some 1000 runs.
WARM_UP = 1000
# Servers of thousands of clients, all of which are on this machine, where servers have their own.
CROWD_UNDER = ["chrt", "--rr", "1"]
CROWD_JAVA = "-Xmx1g"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Site:
    """crowd: ZooKeeper alone, for thousands of clients."""

    def __init__(self, build: str, directory: str, servers: int = 1, sync_ms: int = 0,
                 crowd: bool = False):
        self.build = build
        self.directory = directory
        self.servers = servers
        self.crowd = crowd
        self.zkflock = os.path.join(build, "zkflock")
        self.slow = [self.tool("slowsync"), str(sync_ms)] if sync_ms else []
        self.environ = dict(os.environ)
        self.hand_overs: dict[str, list[float]] = {}  # by peer, in ms
        self._numbers = itertools.count()
        self._etcd: list[subprocess.Popen] = []

    def tool(self, name: str) -> str:
        return os.path.join(self.build, "bench", name)

    def fresh(self, what: str = "lock") -> str:
        """A name that is new, for a lock or a file."""
        return f"{what}-{next(self._numbers)}"

    def file(self, what: str) -> str:
        return os.path.join(self.directory, self.fresh(what))

    @property
    def zookeeper(self) -> str:
        return self.environ["ZKFLOCK_SERVERS"]

    def zk(self, *words: str) -> None:
        processes.run([os.path.join(self.build, "zk"), self.zookeeper, *words], stderr=None)

    def pids(self) -> list[int]:
        """ZooKeeper's processes."""
        found = []
        for number in range(self.servers):
            with open(f"{self.directory}/zk/{number + 1}/pid") as f:
                found.append(int(f.read()))
        return found

    def __enter__(self) -> "Site":
        os.mkdir(self.directory)
        try:
            under = CROWD_UNDER if self.crowd else self.slow
            java = CROWD_JAVA if self.crowd else ""
            subprocess.run([ENSEMBLE, "start", f"{self.directory}/zk", str(self.servers)], check=True,
                           env={**os.environ, "ENSEMBLE_UNDER": " ".join(under),
                                "ENSEMBLE_JAVA": java})
            with open(f"{self.directory}/zk/servers") as f:
                self.environ["ZKFLOCK_SERVERS"] = f.read().strip()
            if not self.crowd:
                self._start_etcd()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, kind, *_) -> None:
        if kind:  # while there are servers, waiters give their places back
            processes.end_all()
        self._stop()

    def _stop(self) -> None:
        processes.end(self._etcd, signal.SIGKILL)
        subprocess.run([ENSEMBLE, "stop", f"{self.directory}/zk"], check=False)

    def _start_etcd(self) -> None:
        urls = [[f"http://127.0.0.1:{free_port()}" for _ in "cp"] for _ in range(self.servers)]
        cluster = ",".join(f"etcd{i}={peer}" for i, (_, peer) in enumerate(urls))
        for i, (client, peer) in enumerate(urls):
            self._etcd.append(processes.start(
                [*self.slow, "etcd", "--name", f"etcd{i}", "--data-dir", f"{self.directory}/etcd{i}",
                 "--listen-client-urls", client, "--advertise-client-urls", client,
                 "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", cluster]))
        # On a busy machine etcdctl would give up early.
        self.environ.update(ETCDCTL_API="3", ETCDCTL_DIAL_TIMEOUT="60s", ETCDCTL_COMMAND_TIMEOUT="60s",
                            ETCDCTL_ENDPOINTS=",".join(client for client, _ in urls))
        deadline = time.monotonic() + 60
        while subprocess.run(["etcdctl", "endpoint", "health"], env=self.environ,
                             capture_output=True).returncode:
            if time.monotonic() > deadline:
                raise processes.Failure("etcd does not start")
            time.sleep(0.05)

    def warm_up(self) -> None:
        """Takes free locks and hands locks over."""
        processes.loops(16, WARM_UP, [self.zkflock, "/warm-{}", "true"], env=self.environ)
        processes.loops(4, WARM_UP // 3, [self.zkflock, "/warm", "true"], env=self.environ)
