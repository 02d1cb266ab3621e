"""The ensemble of three, each server on a machine of its own."""
import os
import random
import signal
import socket
import subprocess
from typing import Optional

import zookeeper
from access import make_keys
from world import TESTS, read, until

COUNT = 3
NAMES = [f"s{i}" for i in range(1, COUNT + 1)]
# A server that does not answer within this is stopped, cut off or dead.
ANSWER_TIME = 0.5
# An ensemble that has not committed a write within this will not.
COMMIT_TIME = 20.0


class Servers:
    def __init__(self, directory: str, addresses: dict[str, str], tls: bool) -> None:
        """tls: each has a port for that too; then all its connections are Netty's, else the JVM's own."""
        self.directory = directory
        self.keys = f"{directory}.keys"
        make_keys(self.keys, [addresses[name] for name in NAMES])
        superuser = zookeeper.digest(zookeeper.SUPER)
        self.environ = {
            **os.environ, "ENSEMBLE_HOSTS": " ".join(f"{name}={addresses[name]}" for name in NAMES),
            "ENSEMBLE_JAVA": f"-Dzookeeper.DigestAuthenticationProvider.superDigest={superuser}"}
        if tls:
            self.environ["ENSEMBLE_TLS"] = f"{self.keys}/server.both want {self.keys}/ca.pem"
        self.tool("start", str(COUNT))
        self.list = read(f"{directory}/servers").strip()
        secure = read(f"{directory}/secure").strip().split(",") if tls else []
        # The port for TLS by the other one.
        self.secure = dict(zip(self.list.split(","), secure))
        self.own_faults: list[str] = []  # what servers did that no client can bring about

    def tool(self, verb: str, *args: str) -> None:
        subprocess.run([f"{TESTS}/ensemble", verb, self.directory, *args], check=True,
                       stdin=subprocess.DEVNULL, env=self.environ)

    def address(self, name: str) -> str:
        """HOST:PORT of its clients."""
        return self.list.split(",")[NAMES.index(name)]

    def ask(self, name: str, word: str) -> str:
        """Its answer to a four-letter word; nothing if there is none in time."""
        host, port = self.address(name).split(":")
        try:
            with socket.create_connection((host, int(port)), ANSWER_TIME) as connection:
                connection.settimeout(ANSWER_TIME)
                connection.sendall(word.encode())
                return b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        except OSError:
            return ""

    def told(self, name: str, key: str) -> str:
        """The value that it reports for this key; empty if it does not serve."""
        for line in self.ask(name, "srvr").splitlines():
            if line.startswith(f"{key}: "):
                return line[len(key) + 2:]
        return ""

    def mode(self, name: str) -> str:
        """leader, follower, or nothing if it does not serve."""
        return self.told(name, "Mode")

    def last_zxid(self, name: str) -> int:
        """The newest transaction that it has; 0 if it does not serve."""
        return int(self.told(name, "Zxid") or "0", 16)

    def leader(self) -> Optional[str]:
        leaders = [name for name in NAMES if self.mode(name) == "leader"]
        return leaders[0] if len(leaders) == 1 else None

    def await_leader(self) -> str:
        leader = until(self.leader, 30)
        assert leader, "no leader within 30 s"
        return leader

    def followers(self) -> list[str]:
        leader = self.await_leader()
        return [name for name in NAMES if name != leader]

    def healthy(self) -> bool:
        return sorted(self.mode(name) for name in NAMES) == ["follower", "follower", "leader"]

    def await_healthy(self) -> None:
        """All serve, and writes are committed.

        A leader that both others have left and come back to, with proposals under way, may go on
        leading without ever committing anything again, and expires no session either.  An operator
        would end it, and so does this.
        """
        for _ in range(3):
            assert until(self.healthy, 60, 0.05), "the ensemble does not recover; see its logs"
            if zookeeper.commits(self.list, COMMIT_TIME):
                return
            leader = self.await_leader()
            self.own_faults.append(f"{leader} led both others and committed nothing for "
                                   f"{COMMIT_TIME:g} s; it was ended")
            self.kill(leader)
            self.launch(leader)
        raise AssertionError("the ensemble commits nothing; see its logs")

    def named(self, address: str) -> Optional[str]:
        """The server with this address, whatever the port."""
        for name in NAMES:
            if self.address(name).split(":")[0] == address.split(":")[0]:
                return name
        return None

    def shuffled(self, rng: random.Random) -> str:
        hosts = self.list.split(",")
        rng.shuffle(hosts)
        return ",".join(hosts)

    # ---- faults ----

    def number(self, name: str) -> str:
        return str(NAMES.index(name) + 1)

    def pid(self, name: str) -> int:
        return int(read(f"{self.directory}/{self.number(name)}/pid"))

    def kill(self, name: str) -> None:
        os.kill(self.pid(name), signal.SIGKILL)
        self.tool("kill", self.number(name))

    def launch(self, name: str) -> None:
        self.tool("launch", self.number(name))

    def await_serving(self, name: str) -> None:
        assert until(lambda: self.mode(name), 60, 0.05), f"{name} does not serve again"

    def pause(self, name: str) -> None:
        os.kill(self.pid(name), signal.SIGSTOP)

    def resume(self, name: str) -> None:
        os.kill(self.pid(name), signal.SIGCONT)

    def stop(self) -> None:
        self.tool("stop")
