"""The report at the end of a campaign."""
import statistics
from collections import Counter

from access import OPEN
from cluster import Cluster
from contenders import Crowd
from judge import Verdict
from kinds import KINDS
from locks import Lock
from stage import SCENARIOS

SHOWN = 10

# Faults of the list that are not injected, and why.
NOT_INJECTED = [
    (24, "the machine's wall clock is not set, as it is everybody's and no namespace has one of "
         "its own; the clock that zkflock sees is"),
    (25, "the machine is not suspended; the clock that zkflock sees jumps as after it"),
    (27, "the machine's own disk is not filled; zkflock writes no file but stderr, which is on a "
         "full one"),
    (30, "a server cannot be given a sequence near 2^31; the unit tests have it"),
]


def table(cluster: Cluster) -> None:
    print("\nfault  times  invariants  what")
    for scenario in sorted(SCENARIOS, key=lambda s: s.number):
        times = sum(1 for fault in cluster.book.faults
                    if (fault.number, fault.name) == (scenario.number, scenario.name))
        print(f"{scenario.number:5}  {times:5}  {scenario.invariants:10}  {scenario.name}")


def manners(crowd: Crowd, locks: list[Lock]) -> str:
    """How often the crowd succeeded in each manner, where there are several."""
    names = Counter(op.manner.name for op in crowd.operations()
                    if op.lock in locks and op.status == 0)
    return "" if len(names) < 2 else ": " + ", ".join(
        f"{count} {name}" for name, count in names.most_common())


def row(cluster: Cluster, locks: list[Lock], text: str) -> None:
    faults = sum(1 for fault in cluster.book.faults if fault.lock in locks)
    overlaps = sum(len(lock.overlaps()) for lock in locks if not lock.fragile)
    violations = sum(1 for violation in cluster.book.violations if violation.lock in locks)
    print(f"{sum(lock.operations() for lock in locks):10}  {faults:6}  {overlaps:8}  "
          f"{violations:10}  {text}")


def kinds(cluster: Cluster, crowd: Crowd) -> None:
    """What was done, struck and found of each kind of lock."""
    print("\noperations  faults  overlaps  violations  kind of lock")
    for kind in KINDS:
        locks = [lock for lock in cluster.locks if lock.kind is kind]
        row(cluster, locks, f"{kind.name}{manners(crowd, locks)}")


def accesses(cluster: Cluster) -> None:
    """The same by who may use the lock."""
    print(f"\noperations  faults  overlaps  violations  ACL of the lock ({servers(cluster)})")
    for name in dict.fromkeys([OPEN.name, *(one.name for one in cluster.hand)]):
        locks = [lock for lock in cluster.locks if lock.access.name == name]
        busy = [lock.name for lock in cluster.busy_locks if lock in locks]
        row(cluster, locks, f"{name}: {sum(lock.operations_by_tls() for lock in locks)} by TLS; the "
                            f"crowd's locks {' '.join(busy)}")
    print(f"a client without credentials tried its rights on {cluster.book.attempts} contenders")


def servers(cluster: Cluster) -> str:
    return "servers with TLS" if cluster.tls else "servers without TLS"


def left_out(cluster: Cluster) -> None:
    print("\nnot injected")
    for number, reason in NOT_INJECTED:
        print(f"{number:5}  {reason}")
    for number, name, reason in cluster.book.not_played:
        print(f"{number:5}  {name}, once: {reason}")


def spans(cluster: Cluster) -> None:
    book = cluster.book
    print("\ntime until the next holder starts")
    for kind in sorted({kind for kind, _ in book.takeovers}):
        times = [span for found, span in book.takeovers if found == kind]
        print(f"  after {kind + ':':22} median {statistics.median(times):5.2f} s, "
              f"worst {max(times):5.2f} s, of {len(times)}")
    if book.cut_margins:
        print(f"from one lease after a cut to the end of the command's tree, worst: "
              f"{-min(book.cut_margins):.3f} s")
    if book.margins:
        print(f"from the end of the lease to the end of the command's tree, worst: "
              f"{-min(book.margins):.3f} s, of {len(book.margins)} losses")


def list_violations(cluster: Cluster) -> None:
    """In order; of many of a kind only the first ones, which show the cause."""
    print("\nviolations, and after how many seconds")
    violations = sorted(cluster.book.violations, key=lambda violation: violation.at)
    for invariant in sorted({violation.invariant for violation in violations}):
        some = [violation for violation in violations if violation.invariant == invariant]
        for violation in some[:SHOWN]:
            print(f"  {violation.at - cluster.started:.1f} s, {violation}")
        if len(some) > SHOWN:
            print(f"  {invariant}: ... and {len(some) - SHOWN} more")


def report(cluster: Cluster, crowd: Crowd, verdict: Verdict, counted: dict[str, int]) -> None:
    table(cluster)
    kinds(cluster, crowd)
    accesses(cluster)
    left_out(cluster)
    spans(cluster)
    print(f"longest time without a holder: {verdict.longest_gap:.1f} s")
    print("contenders' exit status: " + ", ".join(
        f"{status} {count} times" for status, count in sorted(counted.items())))
    if verdict.expected_overlaps:
        print(f"overlaps that no lock can prevent (fault 19): {verdict.expected_overlaps}")
    parted = Counter(lock.path for lock, _ in cluster.book.parted)
    if cluster.servers.own_faults or parted:
        print("\nfaults of the servers themselves, which is no violation")
        for text in cluster.servers.own_faults:
            print(f"  {text}")
        for path, times in parted.items():
            print(f"  they showed different children of {path}, seen {times} times")
        for violation in cluster.book.excused:
            print(f"  {violation.at - cluster.started:.1f} s, meanwhile: {str(violation)[:200]}")
    violations = cluster.book.violations
    if violations:
        list_violations(cluster)
        print(f"logs are kept in {cluster.directory}")
    print(f"chaos: {verdict.turns} operations, {len(cluster.book.faults)} faults, "
          f"{len(violations)} violations, {verdict.lost_updates} lost updates, "
          f"seed {cluster.seed}")
