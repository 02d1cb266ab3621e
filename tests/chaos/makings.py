"""How a lock's znode is made, which leases contenders ask for, what zkflock has to refuse."""
from __future__ import annotations

import dataclasses
import random
from typing import TYPE_CHECKING, Optional

from world import DEFAULT_LEASE, LONGEST_LEASE

if TYPE_CHECKING:
    from kinds import Manner
    from locks import Lock

RECORD = "the record"
EXIT_CONFIG = 78
# What zkflock says when it exits with that status.
REFUSALS = (
    r"not zkflock's: it is no lock",
    r"is a semaphore; give --permits",
    r"in use as a lock without --permits",
    r"holds the permits of a semaphore; it is no lock",
    r"is a lock, and cannot hold permits",
    r"is a lock without permits; leave out --permits",
    r"has no record of its lease and its ACL does not let this client write one",
)


@dataclasses.dataclass(frozen=True)
class Making:
    name: str
    data: Optional[str] = None  # the administrator makes the znode with it; None: zkflock makes it
    writable: bool = True  # clients may read, create and delete in any case

    @property
    def has_record(self) -> bool:
        return self.data == RECORD

    @property
    def is_foreign(self) -> bool:
        return bool(self.data) and not self.has_record


BY_ZKFLOCK = Making("made by zkflock")
OURS = Making("with a record", RECORD)
EMPTY = Making("without data", "")
FOREIGN = Making("with foreign data", "port = 8080\n")
OURS_CLOSED = Making("with a record, without WRITE", RECORD, writable=False)
EMPTY_CLOSED = Making("without data and WRITE", "", writable=False)


def draw_lease(rng: random.Random) -> Optional[float]:
    """Returns what a contender asks for by --lease, in seconds; None: it does not ask.

    Most leases are short or long: a short one beside a long one shows which of them counts.
    """
    kind = rng.random()
    if kind < 0.15:
        return None
    low, high = (4.5, 6) if kind < 0.5 else (7, 14) if kind < 0.65 else (15, LONGEST_LEASE)
    return round(2 * rng.uniform(low, high)) / 2


def asked(lease: Optional[float]) -> float:
    return lease or DEFAULT_LEASE


def outcomes_on(lock: Lock, manner: Manner, lease: Optional[float]) -> set[int]:
    """Returns the right exit statuses of a run on this lock alone that no fault strikes."""
    making = lock.making
    if lock.kind.shares_path and manner.permit:
        # A lock's record refuses permits.  Otherwise the contender that comes first decides.
        return {EXIT_CONFIG} if making.has_record else {0, EXIT_CONFIG}
    if making.is_foreign:
        return {EXIT_CONFIG}
    if lock.kind.shares_path and not making.has_record:
        return {0, EXIT_CONFIG}
    if making == EMPTY_CLOSED and asked(lease) > DEFAULT_LEASE:
        return {EXIT_CONFIG}
    return {0}


def outcomes(lock: Lock, manner: Manner, lease: Optional[float]) -> set[int]:
    """Returns the same for all locks that the run takes: one refusal is enough."""
    each = [outcomes_on(one, manner, lease) for one in lock.taken_by(manner)]
    if any(0 not in statuses for statuses in each):
        return {EXIT_CONFIG}
    return set().union(*each)
