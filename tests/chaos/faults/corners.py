"""Faults 33 to 35 and 41: different leases, sets of locks, all kinds of contenders on one lock, and
early proofs."""
import dataclasses

import kinds
from drama import FATES_OF_NEXT, Part, draw_part, play, visit
from makings import (BY_ZKFLOCK, EMPTY, EMPTY_CLOSED, EXIT_CONFIG, FOREIGN, OURS, OURS_CLOSED,
                     Making)
from stage import Stage, scenario


def draw_record(stage: Stage) -> float:
    """Returns the lease of a record that the administrator makes, in seconds."""
    return round(2 * stage.rng.uniform(*stage.rng.choice([(4.5, 8), (8, 25)]))) / 2


def several_leases(stage: Stage, making: Making) -> None:
    rng = stage.rng
    kind = rng.choice([kinds.FAIR, kinds.SHARED, kinds.SHARED, kinds.UNFAIR, kinds.SEMAPHORE])
    lock = stage.private_lock(kind=kind, making=making, lease=draw_record(stage))
    parts = [draw_part(rng, lock, kind.draw(lock, rng, False), fated=1, latest=2)]
    parts += [draw_part(rng, lock, kind.draw(lock, rng, False)) for _ in range(rng.randint(1, 3))]
    play(stage, parts)


@scenario(33, "different leases, made by zkflock", "M O E L", corner=True)
def leases_made_by_zkflock(stage: Stage) -> None:
    several_leases(stage, BY_ZKFLOCK)


@scenario(33, "different leases, with a record", "M O E L", corner=True)
def leases_with_record(stage: Stage) -> None:
    several_leases(stage, OURS)


@scenario(33, "different leases, without data", "M O E L", corner=True)
def leases_without_data(stage: Stage) -> None:
    several_leases(stage, EMPTY)


@scenario(33, "different leases, without data and WRITE", "M O E L", corner=True)
def leases_without_data_and_write(stage: Stage) -> None:
    several_leases(stage, EMPTY_CLOSED)


@scenario(33, "different leases, with a record, without WRITE", "M O E L", corner=True)
def leases_with_record_without_write(stage: Stage) -> None:
    several_leases(stage, OURS_CLOSED)


@scenario(33, "different leases, with foreign data", "E L", corner=True)
def leases_with_foreign_data(stage: Stage) -> None:
    several_leases(stage, FOREIGN)


@scenario(34, "the last lock of a set is waited for", "M E L", corner=True)
def last_of_set(stage: Stage) -> None:
    """Nobody vanishes, so the lease of the first may be long."""
    rng = stage.rng
    long, short = round(rng.uniform(50, 120)), round(rng.uniform(4.5, 9))
    locks = stage.cluster.private_pair(*((OURS, lease) for lease in rng.choice(
        [(long, short), (long, short), (long, short), (short, long)])), access=stage.access)
    holder = Part(locks[1], kinds.PLAIN, None, 0, short * rng.uniform(0.7, 1.7))
    takers = [dataclasses.replace(draw_part(rng, lock, kinds.both(lock), fated=0), start=start)
              for lock, start in zip(rng.sample(locks, 2), (1, rng.uniform(1, 10)))]
    play(stage, [holder, *takers])


@scenario(34, "sets of different leases, and holders vanish", "M O E L", corner=True)
def sets_and_losses(stage: Stage) -> None:
    rng = stage.rng
    makings = [rng.choice([OURS, OURS, EMPTY, BY_ZKFLOCK, OURS_CLOSED, EMPTY_CLOSED])
               for _ in range(2)]
    locks = stage.cluster.private_pair(*((making, draw_record(stage)) for making in makings),
                                       access=stage.access)
    parts = []
    for fated in (1, *[0.3] * rng.randint(1, 2)):
        lock = rng.choice(locks)
        manner = rng.choice([kinds.both(lock), kinds.both(lock), kinds.PLAIN])
        parts.append(draw_part(rng, lock, manner, fated))
    play(stage, parts)


def share_a_path(stage: Stage, making: Making) -> None:
    """Afterwards the znode is a lock or a semaphore, never both and never neither."""
    rng = stage.rng
    lock = stage.private_lock(kind=kinds.MIXED, making=making, lease=draw_record(stage))
    parts = [draw_part(rng, lock, kinds.MIXED.draw(lock, rng, False), fated=0.8, latest=3)
             for _ in range(rng.randint(1, 2))]
    for _ in range(rng.randint(1, 2)):
        # A refusal takes no time, so the contender comes again and again.
        part = draw_part(rng, lock, kinds.PERMIT, fated=0.2)
        parts.append(part if part.fate else dataclasses.replace(part, rounds=rng.randint(1, 12)))
    if rng.random() < 0.4:
        parts.append(draw_part(rng, lock, kinds.MIXED.draw(lock, rng, False), latest=20))
    play(stage, parts)
    visits = [visit(stage, lock, manner) for manner in rng.sample([kinds.PLAIN, kinds.PERMIT], 2)]
    statuses = sorted(str(one.status) for one in visits)
    stage.expect(statuses == ["0", str(EXIT_CONFIG)] or stage.disturbed(), "E",
                 f"{lock.path}: of a plain contender and one for a permit one is refused, but "
                 f"they end with {statuses}: {[one.messages for one in visits]}")


@scenario(35, "all kinds on one path, made by zkflock", "M O E L", corner=True)
def kinds_made_by_zkflock(stage: Stage) -> None:
    share_a_path(stage, BY_ZKFLOCK)


@scenario(35, "all kinds on one path, with a record", "M O E L", corner=True)
def kinds_with_record(stage: Stage) -> None:
    share_a_path(stage, OURS)


@scenario(35, "all kinds on one path, without data", "M O E L", corner=True)
def kinds_without_data(stage: Stage) -> None:
    share_a_path(stage, EMPTY)


@scenario(35, "all kinds on one path, without WRITE", "M O E L", corner=True)
def kinds_without_write(stage: Stage) -> None:
    share_a_path(stage, stage.rng.choice([OURS_CLOSED, EMPTY_CLOSED]))


@scenario(41, "the next in the queue is struck as its turn comes", "M O E L", corner=True)
def next_struck(stage: Stage) -> None:
    """Between its last early proof and the start of its command, or close to that."""
    rng = stage.rng
    kind = rng.choice([kinds.FAIR, kinds.FAIR, kinds.STYLES, kinds.SHARED])
    lease = draw_record(stage)
    lock = stage.private_lock(kind=kind, making=OURS, lease=lease)
    holder = Part(lock, kinds.PLAIN, None, 0, rng.uniform(2, 4))
    fate = rng.choices(FATES_OF_NEXT, [fate.weight for fate in FATES_OF_NEXT])[0]
    start = rng.uniform(0.5, 1)
    early = rng.uniform(0, rng.choice([0.3, lease / 3]))
    struck = Part(lock, kinds.PLAIN, None, start, rng.uniform(0.05, 2), fate, strikes_holder=False,
                  delay=max(0.0, holder.hold - start - early), absence=early + rng.uniform(0, 4))
    behind = [draw_part(rng, lock, kind.draw(lock, rng, False), fated=0.3)
              for _ in range(rng.randint(1, 2))]
    vanishing = rng.random() < 0.3
    parts = [draw_part(rng, lock, kinds.PLAIN, fated=1, latest=0) if vanishing else holder, struck]
    play(stage, [*parts, *(dataclasses.replace(part, start=1 + part.start) for part in behind)])
