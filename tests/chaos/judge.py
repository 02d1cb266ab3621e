"""The verdict over a whole campaign, from the payload's logs.  It asks zkflock nothing."""
import dataclasses
import os
import re
from collections import Counter
from typing import Iterable

import zookeeper
from cluster import Book, Cluster
from kinds import PERMITS, SEMAPHORE
from locks import NS, Lock, Turn
from runs import Operation
from makings import EXIT_CONFIG, REFUSALS, asked, outcomes
from servers import NAMES
from stage import EXIT_LOST, EXIT_UNREACHABLE
from world import EXPIRY, LONGEST_LEASE, SLACK, read, until

OURS = {"zkflock", "lock-guard", "lock-settler", "lock-witness", "payload"}


@dataclasses.dataclass
class Verdict:
    turns: int = 0
    lost_updates: int = 0
    overlaps: int = 0
    expected_overlaps: int = 0
    longest_gap: float = 0.0


def time_of(line: str) -> float:
    """Returns when the payload wrote this line."""
    return int(line.split()[4]) / NS


def overlaps(lock: Lock, book: Book, verdict: Verdict) -> None:
    """M: the payload was refused the judge's lock."""
    found = lock.overlaps()
    if lock.fragile:
        verdict.expected_overlaps += len(found)
        return
    verdict.overlaps += len(found)
    for line in found:
        book.violation("M", f"{lock.path}: {line}", quiet=True, lock=lock, at=time_of(line))


def risks(lock: Lock, book: Book) -> None:
    """M: a command may run beside one whose contender vanished only with --lock-delay 0."""
    for line in lock.risked():
        at = time_of(line)
        since = at - EXPIRY - LONGEST_LEASE - SLACK
        struck = any(hit in lock.linked() and since < when < at for hit, when in book.struck)
        if not struck and not book.disturbed(since, at) and not lock.fragile:
            book.violation("M", f"{lock.path}: {line}, and nobody had vanished", lock=lock,
                           at=at)


def tokens(lock: Lock, book: Book) -> None:
    """K: a writer's token is greater than all before, a reader's than that of any writer.

    Holders of permits start in any order, each with a token of its own.
    """
    turns = [turn for turn in lock.turns if not turn.beside]
    if not lock.kind.ordered:
        turns.sort(key=lambda turn: turn.token)
    of_writers = of_all = 0
    for turn in turns:
        before = of_writers if turn.reader else of_all
        if turn.token <= before:
            book.violation("K", f"{lock.path}: {turn.who} has the token {turn.token} after "
                                f"{before}", lock=lock)
        of_all = max(of_all, turn.token)
        if not turn.reader:
            of_writers = max(of_writers, turn.token)


def audit(turns: Iterable[Turn], final: int) -> tuple[int, int]:
    """Returns how many updates are lost, and how many came from nowhere.

    What was written is known from the line after it.  A payload that was killed between its write
    and that line leaves two values possible; the next reading settles which.
    """
    lost = unknown = least = most = 0
    for value, turn in [(turn.value, turn) for turn in turns] + [(final, None)]:
        lost += max(0, least - value)
        unknown += max(0, value - most)
        if turn is None or turn.reader:
            continue
        least, most = value, value + 1
        if turn.written is not None:
            least = most = turn.written
    return lost, unknown


def counts(lock: Lock, book: Book, verdict: Verdict) -> None:
    """C: the counter is what the log says, to the last write."""
    if lock.fragile:
        return
    for slot in {turn.slot for turn in lock.turns}:
        lost, unknown = audit((turn for turn in lock.turns if turn.slot == slot),
                              lock.counter(slot))
        verdict.lost_updates += lost
        if lost:
            book.violation("C", f"{lock.path}: {lost} updates of the counter are lost", lock=lock)
        if unknown:
            book.violation("C", f"{lock.path}: {unknown} updates of the counter by nobody known",
                           lock=lock)
    for line in lock.seen("changed"):
        book.violation("C", f"{lock.path}: {line}", quiet=True, lock=lock)


def gap_bound(lock: Lock, cluster: Cluster, since: float, to: float) -> float:
    """Returns how long the lock may have no new holder: each fault costs an expiry and a lease; one of the
    ensemble costs its whole duration, and perhaps every contender's session."""
    book = cluster.book
    vanished = EXPIRY + cluster.waits(lock)
    hits = sum(1 for hit, at in book.struck if hit in lock.linked() and since - vanished < at < to)
    bound = SLACK + vanished * max(1, hits)
    for start, end in book.disturbances:
        if start < to and end > since:
            bound += min(end, to) - max(start, since) + 2 * vanished
    return bound


def gaps(lock: Lock, cluster: Cluster, verdict: Verdict) -> None:
    """L: with a crowd waiting, somebody starts soon after the one before.

    Of a pair, who has the one may wait for who has the other: they count together.
    """
    turns = sorted(((turn, one) for one in lock.linked() for turn in one.turns),
                   key=lambda found: found[0].begin)
    latest, since = "the start", float("inf")
    for turn, one in turns:
        gap = max(0.0, turn.begin - since)
        verdict.longest_gap = max(verdict.longest_gap, gap)
        bound = gap_bound(lock, cluster, since, turn.begin)
        if gap > bound:
            cluster.book.violation("L", f"{lock.path}: nobody between {latest} and {turn.who} for "
                                   f"{gap:.1f} s, {bound:.1f} s at most were due", lock=lock,
                                   at=turn.begin)
        end = one.gone_by(turn)
        if latest == "the start" or end > since:
            latest, since = turn.who, end


def idle_permits(lock: Lock, cluster: Cluster) -> None:
    """L: a vanished holder costs all later contenders one lease together, not one each."""
    book = cluster.book
    lease = cluster.waits(lock)
    waits = 0
    for i, turn in enumerate(lock.turns[1:], 1):
        since = lock.turns[i - 1].begin
        running = sum(1 for before in lock.turns[max(0, i - 20):i]
                      if lock.gone_by(before) > since + SLACK)
        if running >= PERMITS or turn.begin - since < 0.9 * lease:
            continue
        # Faults of the ensemble do not count here, as they may cost everybody's session.
        if not book.disturbed(since - 2 * (EXPIRY + lease), turn.begin):
            waits += 1
    hits = sum(1 for hit, _ in book.struck if hit is lock)
    if waits > hits:
        book.violation("L", f"{lock.path}: a lease was waited {waits} times while a permit was "
                            f"free; {hits} faults struck it", lock=lock)


def refused_rightly(messages: str) -> bool:
    return any(re.search(reason, messages) for reason in REFUSALS)


def told_of_lease(lease: float, op: Operation) -> bool:
    """Returns true unless it asked for another lease and does not say that this one is used."""
    return op.asked in (None, lease) or "which is used here instead" in op.messages


def fault_of(op: Operation, cluster: Cluster) -> str:
    """Returns what is wrong with how the run ended; nothing if all is well."""
    turn = op.lock.turn(op.who)
    whole = turn is not None and turn.end is not None
    due = outcomes(op.lock, op.manner, op.asked) | set(op.struck)
    if cluster.book.disturbed(op.started, op.finished):
        due |= {EXIT_LOST, EXIT_UNREACHABLE}
    lease = cluster.lease(op.lock, op.manner)
    if op.status not in due:
        return f"ended with {op.status}, not with one of {sorted(due)}"
    if op.status == 0 and not whole and not op.struck:
        return "ended with 0 without a whole run"
    if op.status == EXIT_LOST and not turn and not op.struck:
        return "lost the lock before its command ran"
    if op.status == EXIT_LOST and "lost" not in op.messages:
        return "ended with 75 and does not say why"
    if op.status == EXIT_CONFIG and (turn or not refused_rightly(op.messages)):
        return "was refused, " + ("after its run" if turn else "and it is not clear why")
    if op.status == 0 and not op.manner.both and not told_of_lease(lease, op):
        return f"asked for {asked(op.asked):g} s, was given {lease:g} s and is not told"
    return ""


def statuses(operations: list[Operation], cluster: Cluster) -> dict[str, int]:
    """E: exit statuses and messages agree with what happened; a run that no fault strikes succeeds, or is
    refused if zkflock has to refuse it."""
    for op in operations:
        invariant, fault = "E", ""
        if op.status is None:
            invariant, fault = "L", f"did not end in {op.finished - op.started:.0f} s"
        else:
            fault = fault_of(op, cluster)
        if fault:
            cluster.book.violation(
                invariant, f"{op.lock.path}, {op.lock.making.name}: {op.who}, {op.manner.name}, "
                           f"{fault}: {op.messages}", lock=op.lock, at=op.finished)
    return dict(Counter(str(op.status) for op in operations))


def processes_left() -> list[str]:
    """Lists the processes in this run's own pid namespace, so that they are all ours."""
    left = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                state = read(f"/proc/{entry}/stat").rsplit(")", 1)[1].split()[0]
                name = read(f"/proc/{entry}/comm").strip()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if name in OURS and state != "Z":
                left.append(f"{entry} {name} ({state})")
    return left


def disagreements(cluster: Cluster, queues: list[str]) -> dict[str, str]:
    """The queues of which the servers, each behind all that was committed, show different children.

    A server that joins twice in a row may lose what was committed in between, for good, and goes
    on serving (ZOOKEEPER-4785, ZOOKEEPER-5010).  No client can bring that about, nor mend it: it is
    told, and may explain the rest, as one who waits for a znode that only its own server has.
    """
    shown = {name: zookeeper.shown_by(cluster.servers.address(name), queues) for name in NAMES}
    different = {}
    for queue in queues:
        views = {name: view.get(queue) for name, view in shown.items()}
        if len({str(view) for view in views.values()}) > 1:
            different[queue] = str(views)
    return different


def leftovers(cluster: Cluster) -> None:
    """L: when everybody has gone, so has everything."""
    book = cluster.book
    if not until(lambda: not processes_left(), 5, 0.1):
        book.violation("L", f"processes are left: {', '.join(processes_left())}")
    owners = {queue: lock for lock in cluster.locks for queue in lock.queues()}
    left = []
    for queue in owners:
        def empty(path: str = queue) -> bool:
            return not cluster.zookeeper.contenders(path)
        if not until(empty, EXPIRY + SLACK, 0.1):
            left.append(queue)
    different = disagreements(cluster, list(owners))
    for queue, views in different.items():
        cluster.servers.own_faults.append(f"they show different children of {queue}: {views}")
    for queue in left:
        if queue not in different:
            book.violation("L", f"znodes are left in {queue}: "
                                f"{cluster.zookeeper.contenders(queue)}", lock=owners[queue])


def judge(cluster: Cluster) -> Verdict:
    verdict = Verdict()
    for lock in cluster.locks:
        lock.refresh()
        verdict.turns += lock.operations()
        overlaps(lock, cluster.book, verdict)
        risks(lock, cluster.book)
        tokens(lock, cluster.book)
        counts(lock, cluster.book, verdict)
        private = lock.name.startswith("private")
        second = lock.partner in cluster.locks[:cluster.locks.index(lock)]
        if not private and not second:
            gaps(lock, cluster, verdict)
        if not private and lock.kind is SEMAPHORE:
            idle_permits(lock, cluster)
    return verdict
