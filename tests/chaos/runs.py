"""One run of zkflock with the payload as its command."""
import dataclasses
import itertools
import os
import re
import select
import signal
import subprocess
import threading
from typing import Optional, Sequence

from hosts import Host
from kinds import LEAVE_BEHIND, PLAIN, Manner
from locks import Lock, Turn
from world import CONNECT, SESSION, now, read, until

UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0}
_numbers = itertools.count(1)


class Tools:
    """The programs under test, and where runs leave their messages."""

    def __init__(self, build: str, directory: str, options: Sequence[str], keys: str,
                 secure: dict[str, str]) -> None:
        """keys: their directory; secure: the servers' ports for TLS by the other ones."""
        self.zkflock = f"{build}/zkflock"
        self.payload = f"{build}/chaos/payload"
        self.clock = f"{build}/chaos/clockshift.so"
        self.directory = directory
        self.options = list(options)
        self.keys = keys
        self.secure = secure
        self.help = subprocess.run([self.zkflock, "--help"], capture_output=True, text=True,
                                   check=True).stdout


class Run:
    def __init__(self, tools: Tools, host: Host, lock: Lock, servers: str, hold: float,
                 variants: Sequence[str] = (), options: Sequence[str] = (),
                 session: float = SESSION, watch: bool = False, stderr=None,
                 environ: Optional[dict[str, str]] = None, manner: Manner = PLAIN,
                 lease: Optional[float] = None, tls: bool = False) -> None:
        """watch: learn when the last process of the payload's tree is gone.

        tls: come by TLS, to the ports for it of those servers that have one.
        """
        self.who = f"{host.name}-{next(_numbers)}"
        self.host = host
        self.lock = lock
        self.manner = manner
        self.asked = lease  # by --lease
        self.tls = tls
        self.told_to_end = False
        self.errors = f"{tools.directory}/{self.who}.err"
        self.empty_at: Optional[float] = None
        variants = [*manner.variants, *variants]
        if watch:
            variants.append(f"alive={self.start_watch(tools)}")
        self.started = now()
        lock.waiting[self.who] = self.started
        if tls:
            lock.by_tls.add(self.who)
            servers = ",".join(tools.secure.get(one, one) for one in servers.split(","))
        common = [tools.zkflock, "-v", "-z", servers, "--session-timeout", str(session),
                  "--connect-timeout", f"{CONNECT:g}s", *tools.options,
                  *lock.access.options(tools.keys, tls)]
        command = [tools.payload, lock.directory, self.who, str(int(hold * 1000)), *variants]
        for inner in reversed(manner.inner):
            command = [*common, *inner, lock.path, *command]
            if manner.behind and inner is manner.inner[-1]:
                command = ["sh", "-c", LEAVE_BEHIND, f"{lock.directory}/log", self.who, *command]
        with open(self.errors, "w") as errors:
            self.process = host.popen(
                [*common, *(["--lease", f"{lease:g}s"] if lease else []), *manner.options,
                 *options, lock.path, *command],
                stdin=subprocess.DEVNULL, stderr=errors if stderr is None else stderr,
                stdout=subprocess.DEVNULL, env={**os.environ, **(environ or {})})
        self.pid = self.process.pid

    # ---- the payload's tree ----

    def start_watch(self, tools: Tools) -> str:
        """Every process of the tree holds one end of a fifo, which hangs up when the last one has gone."""
        path = f"{tools.directory}/{self.who}.alive"
        os.mkfifo(path)
        os.chmod(path, 0o666)
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.watch_over = threading.Event()
        threading.Thread(target=self.watch, args=(fd,), daemon=True).start()
        return path

    def watch(self, fd: int) -> None:
        poll = select.poll()
        poll.register(fd, 0)
        while not self.watch_over.is_set():
            if poll.poll(200):
                self.empty_at = now()
                self.lock.emptied[self.who] = self.empty_at
                break
        os.close(fd)

    def await_empty(self, deadline: float) -> Optional[float]:
        """When the tree was gone, if that was before the deadline."""
        return until(lambda: self.empty_at, deadline - now())

    # ---- zkflock's processes ----

    def child(self, name: str) -> Optional[int]:
        """zkflock's own child of that name."""
        try:
            children = read(f"/proc/{self.pid}/task/{self.pid}/children").split()
            for pid in children:
                if read(f"/proc/{pid}/comm").strip() == name:
                    return int(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass
        return None

    def guard(self) -> int:
        pid = until(lambda: self.child("lock-guard"), 5)
        assert pid, f"{self.who} has no guard"
        return pid

    def signal(self, number: int) -> bool:
        """To the keeper; False if it is gone."""
        if self.process.poll() is not None:
            return False
        os.kill(self.pid, number)
        self.told_to_end |= number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        return True

    # ---- what became of it ----

    def turn(self) -> Optional[Turn]:
        return self.lock.turn(self.who)

    def begun(self) -> bool:
        return self.turn() is not None

    def ended(self) -> bool:
        turn = self.turn()
        return turn is not None and turn.end is not None

    def may_be_cut_short(self) -> bool:
        """True if its command had ended well and the signal went to the payload that it left behind."""
        return self.manner.behind and self.told_to_end

    def node(self) -> str:
        """Its znode, from the messages of -v."""
        found = re.search(r"^zkflock\[.*\]: holding it as (\S+), waited", self.messages(), re.M)
        assert found, f"no znode named in: {self.messages()}"
        return found[1]

    def connected_to(self) -> str:
        """The server that it found last, from the same."""
        found = re.findall(r"connected to ([\d.]+:\d+)", self.messages())
        assert found, f"no server named in: {self.messages()}"
        return found[-1]

    def messages(self) -> str:
        return read(self.errors)

    def status(self, seconds: float) -> Optional[int]:
        """The exit status as a shell has it; None if the run does not end in time."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        self.over()
        return 128 - status if status < 0 else status

    def over(self) -> None:
        self.lock.waiting.pop(self.who, None)

    def destroy(self) -> None:
        """Kills all of it, and everything else on its machine."""
        self.host.power_off()
        self.process.wait()
        self.over()

    def margin(self) -> Optional[float]:
        """Seconds from the tree's end to the lease's, as zkflock tells it; negative: too late."""
        found = re.search(
            r"nothing of .* is left, (?:but only )?([\d.]+) (ms|s|m)\b.* (before|after) the lease",
            self.messages())
        if not found:
            return None
        span = float(found[1]) * UNITS[found[2]]
        return span if found[3] == "before" else -span


@dataclasses.dataclass
class Operation:
    """How a run ended, for the judge."""
    who: str
    lock: Lock
    manner: Manner
    started: float
    finished: float
    status: Optional[int]  # None: it did not end
    messages: str
    asked: Optional[float]  # by --lease
    struck: Sequence[int] = ()  # statuses that are right besides, since a fault struck it
