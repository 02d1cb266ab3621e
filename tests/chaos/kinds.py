"""The kinds of locks: what contenders ask zkflock for, and what the payload has to see."""
from __future__ import annotations

import dataclasses
import random
from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from locks import Lock

PERMITS = 3

# A command that ends as soon as the zkflock inside it, left behind, has started the payload.
# Arguments: the payload's log, its WHO, and the words of that zkflock.
LEAVE_BEHIND = """
log=$0 who=$1 tries=0
shift
"$@" &
until grep -q "^begin $who " "$log" || [ $((tries += 1)) -gt 600 ]; do sleep 0.05; done
"""


@dataclasses.dataclass(frozen=True)
class Manner:
    """How a contender takes the lock; the name is for the report."""
    name: str
    options: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()  # of the payload
    inner: tuple[tuple[str, ...], ...] = ()  # options of each zkflock inside, outermost first
    behind: bool = False  # the innermost one is left in the background
    alone: bool = True  # nobody else may run at the same time

    @property
    def permit(self) -> bool:
        return "--permits" in self.options

    @property
    def both(self) -> bool:
        """Returns true if it takes the lock's partner too."""
        return "--with" in self.options


@dataclasses.dataclass(frozen=True)
class Kind:
    name: str
    crowd: int  # contenders for each lock
    draw: Callable[[Lock, random.Random, bool], Manner]  # the last one: in the crowd
    children: tuple[str, ...] = ("",)  # of its znode, below which contenders stand
    # Whether payloads start in the order of tokens: of permits, each is given out with the next.
    ordered: bool = True
    shares_path: bool = False  # permits are asked for on the same path


PLAIN = Manner("fair")
READER = Manner("shared", ("--shared",), ("reader",), alone=False)
WRITER = Manner("exclusive", ("--exclusive",))
PERMIT = Manner("permit", ("--permits", str(PERMITS)), (f"permits={PERMITS}",), alone=False)
BARGING = Manner("unfair", ("--unfair",))


def careless(manner: Manner) -> Manner:
    """Returns the same manner with --lock-delay 0."""
    return dataclasses.replace(manner, name=f"{manner.name}, careless",
                               options=(*manner.options, "--lock-delay", "0"),
                               variants=(*manner.variants, "careless"))


def fair(_lock: Lock, _rng: random.Random, _crowd: bool) -> Manner:
    return PLAIN


def of_any_style(_lock: Lock, rng: random.Random, _crowd: bool) -> Manner:
    style = rng.choice(["curator", "kazoo", "plain:x-"])
    return Manner(style, ("--node-style", style))


def shared(_lock: Lock, rng: random.Random, _crowd: bool) -> Manner:
    return rng.choice([READER, READER, READER, WRITER, PLAIN])


def unfair(_lock: Lock, rng: random.Random, crowd: bool) -> Manner:
    """Has few fair contenders: while one of them queues, no unfair one gets in, which is no fault."""
    return BARGING if rng.random() < (0.8 if crowd else 0.6) else PLAIN


def semaphore(_lock: Lock, _rng: random.Random, _crowd: bool) -> Manner:
    return PERMIT


def pair(lock: Lock, rng: random.Random, crowd: bool) -> Manner:
    """Some of the crowd take one of the two alone; the rest both, either of them by --with."""
    if crowd and rng.random() < 0.3:
        return Manner("one alone")
    return both(lock)


def both(lock: Lock) -> Manner:
    assert lock.partner
    return Manner("both", ("--with", lock.partner.path), (f"also={lock.partner.directory}",))


def of_any_kind(_lock: Lock, rng: random.Random, crowd: bool) -> Manner:
    """In the crowd some take --lock-delay 0, and some ask for a permit, which is refused."""
    if not crowd:
        return rng.choice([PLAIN, READER, WRITER, BARGING])
    manner = rng.choice([PLAIN, READER, READER, WRITER, BARGING, BARGING, BARGING])
    luck = rng.random()
    return careless(manner) if luck < 0.3 else PERMIT if luck < 0.4 else manner


def nested(_lock: Lock, rng: random.Random, _crowd: bool) -> Manner:
    inside = [rng.choice([(), (), ("--shared",)]) for _ in range(rng.choice([1, 1, 2]))]
    behind = rng.random() < 0.3
    return Manner("left behind" if behind else "inside", inner=tuple(inside), behind=behind)


FAIR = Kind("fair", 2, fair)
STYLES = Kind("fair, names of all styles", 2, of_any_style)
SHARED = Kind("readers and writers", 5, shared)
UNFAIR = Kind("unfair and fair", 4, unfair)
SEMAPHORE = Kind(f"{PERMITS} permits", 5, semaphore, children=("/leases", "/locks"),
                 ordered=False)
PAIR = Kind("two locks at once", 3, pair)
NESTED = Kind("re-entry", 3, nested)
MIXED = Kind("all kinds on one path", 4, of_any_kind, children=("", "/leases", "/locks"),
             ordered=False, shares_path=True)
KINDS = (FAIR, STYLES, SHARED, UNFAIR, SEMAPHORE, PAIR, NESTED, MIXED)
