"""A lock, and the directory in which the payload leaves what it saw under it."""
import dataclasses
import os
import threading
from typing import Optional

from access import OPEN, Access
from kinds import FAIR, Kind, Manner
from makings import OURS, Making
from world import now, read, until
from zookeeper import ROOT

NS = 1e9


@dataclasses.dataclass
class Turn:
    """One payload's time under the lock, as its log tells it."""
    who: str
    token: int
    pid: int
    begin: float
    hold: float
    value: int
    reader: bool
    slot: int  # which one of the permits
    end: Optional[float] = None
    written: Optional[int] = None

    @property
    def beside(self) -> bool:
        """True if this lock was the second one of two; the token is that of the first."""
        return self.token == 0


class Lock:
    def __init__(self, directory: str, name: str, fragile: bool = False, kind: Kind = FAIR,
                 making: Making = OURS, access: Access = OPEN) -> None:
        """fragile: a fault that no lock service survives is played with it; it will overlap."""
        self.name = name
        self.path = f"{ROOT}/{name}"
        self.directory = f"{directory}/{name}"
        self.fragile = fragile
        self.kind = kind
        self.making = making
        self.access = access
        self.by_tls: set[str] = set()  # who came by TLS
        self.leases: dict[str, float] = {}  # by znode, of its record, once that was seen
        self.partner: Optional["Lock"] = None  # the other one of a pair
        self.turns: list[Turn] = []  # in the order of their begins
        self.by_who: dict[str, Turn] = {}
        self.waiting: dict[str, float] = {}  # who runs zkflock now, since when
        self.emptied: dict[str, float] = {}  # when a tree was seen to be gone
        self.reading = threading.Lock()
        self.position = 0
        os.makedirs(self.directory)
        os.chmod(self.directory, 0o777)

    def pair_with(self, other: "Lock") -> None:
        self.partner, other.partner = other, self

    def note(self, messages: str) -> None:
        """Keeps what zkflock said in a run that went well."""
        with self.reading, open(f"{self.directory}/messages", "a") as file:
            file.write(messages)

    def queues(self) -> list[str]:
        """The znodes below which its contenders stand."""
        return [self.path + child for child in self.kind.children]

    def record_at(self, permit: bool) -> str:
        """Returns the znode whose record has the lease."""
        return self.path + "/leases" if permit else self.path

    def taken_by(self, manner: Manner) -> list["Lock"]:
        return [self, self.partner] if self.partner and manner.both else [self]

    def linked(self) -> list["Lock"]:
        """The locks whose holders keep each other waiting, this one first."""
        return [self, self.partner] if self.partner else [self]

    def refresh(self) -> None:
        """Reads what is new in the log."""
        with self.reading:
            try:
                with open(f"{self.directory}/log") as log:
                    log.seek(self.position)
                    text = log.read()
            except FileNotFoundError:
                return
            whole = text[:text.rfind("\n") + 1]
            self.position += len(whole.encode())
            for line in whole.splitlines():
                self.take(line.split())

    def take(self, words: list[str]) -> None:
        kind, who, token, pid, at, *rest = words
        if kind == "begin":
            turn = Turn(who, int(token), int(pid), int(at) / NS, int(rest[0]) / 1000, int(rest[1]),
                        rest[2] == "read", int(rest[3]))
            self.turns.append(turn)
            self.by_who[who] = turn
        else:
            self.by_who[who].end = int(at) / NS
            self.by_who[who].written = int(rest[1])

    def turn(self, who: str) -> Optional[Turn]:
        self.refresh()
        return self.by_who.get(who)

    def gone_by(self, turn: Turn) -> float:
        """If it was killed unseen, only the time is known at which it would have ended by itself."""
        return turn.end or self.emptied.get(turn.who) or turn.begin + turn.hold

    def seen(self, what: str) -> list[str]:
        """Returns lines of payloads that saw another (overlap, risked) or its traces (changed)."""
        path = f"{self.directory}/violations"
        lines = read(path).splitlines() if os.path.exists(path) else []
        return [line for line in lines if line.startswith(f"{what} ")]

    def overlaps(self) -> list[str]:
        return self.seen("overlap")

    def risked(self) -> list[str]:
        """Returns a line for each payload with --lock-delay 0 that found another one alive."""
        return self.seen("risked")

    def operations(self) -> int:
        """One that took two locks counts where it was asked for."""
        return sum(1 for turn in self.turns if not turn.beside)

    def operations_by_tls(self) -> int:
        return sum(1 for turn in self.turns if not turn.beside and turn.who in self.by_tls)

    def counter(self, slot: int = 0) -> int:
        path = f"{self.directory}/counter" + (f".{slot}" if slot else "")
        return int(read(path) or 0) if os.path.exists(path) else 0

    def next_begin(self, after: float) -> Optional[float]:
        self.refresh()
        return min((turn.begin for turn in self.turns if turn.begin > after), default=None)

    def await_next(self, after: float, seconds: float) -> Optional[float]:
        """When the first payload after that time began, if it does so in time."""
        return until(lambda: self.next_begin(after), seconds - (now() - after))
