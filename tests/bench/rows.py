"""The rows of the table: what is measured at which servers, and how the figures are told."""
import itertools
import os
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import handover
import runs
from handover import CURATOR, ETCDCTL, FLOCK, FLOOR, KAZOO, ZKFLOCK
from processes import Failure
from servers import Site

SYNC_MS = 5
ROUNDS = 70  # of whole runs
ZK_PEERS = [ZKFLOCK, KAZOO, CURATOR]


@dataclass
class Figure:
    """A line of the table.  value is a median where there is a p90."""
    measure: str
    value: float
    unit: str = ""
    p90: float | None = None
    goal: str = ""


def p90(values: list[float]) -> float:
    return statistics.quantiles(values, n=10)[-1]


def absolute(where: str, times: dict[str, list[float]]) -> Iterator[Figure]:
    for title, values in times.items():
        yield Figure(f"{where}, {title}", statistics.median(values), "ms", p90(values))


def compared(what: str, times: dict[str, list[float]], goals: dict[str, str]) -> Iterator[Figure]:
    """zkflock beside each of the others, as ratios of both quantiles."""
    own = times[ZKFLOCK.title]
    for title, values in times.items():
        if title != ZKFLOCK.title:
            yield Figure(f"{what} / {title}", statistics.median(own) / statistics.median(values), "",
                         p90(own) / p90(values), goals.get(title, ""))


def hand_over(site: Site) -> Iterator[Figure]:
    times = handover.measure(site, [*ZK_PEERS, ETCDCTL, FLOCK], 2)
    yield from absolute("hand-over", times)
    yield from compared("hand-over", times, {FLOOR: "<= 1.5", ETCDCTL.title: "<= 0.6"})


def hand_over_slow(site: Site) -> Iterator[Figure]:
    times = handover.measure(site, [*ZK_PEERS, ETCDCTL], 2)
    for title, values in times.items():
        yield Figure(f"hand-over with {SYNC_MS} ms a sync, {title}",
                     statistics.median(values) / SYNC_MS, "syncs", p90(values) / SYNC_MS,
                     "<= 1.6" if title == ZKFLOCK.title else "")


def hand_over_ensemble(site: Site) -> Iterator[Figure]:
    times = handover.measure(site, [*ZK_PEERS, ETCDCTL], 2)
    yield from absolute("hand-over, ensemble of three", times)
    yield from compared("hand-over, ensemble of three", times, {})


def waiters(site: Site) -> Iterator[Figure]:
    turns = 120
    few = [time for _ in range(turns // 30) for time in handover.play(site, ZKFLOCK, 31)]
    many = handover.play(site, ZKFLOCK, 1000, turns)
    yield Figure("hand-over, 1000 waiters / 31", statistics.median(many) / statistics.median(few), "",
                 p90(many) / p90(few), "<= 1.15")


def increments(site: Site) -> Iterator[Figure]:
    loops, count = 20, 1000
    name = site.fresh()
    (own, lost), (other, lost_too) = (
        runs.increments(site, peer.argv(site, name, 1), loops, count) for peer in (ZKFLOCK, ETCDCTL))
    yield Figure(f"{loops} loops, {count} increments, whole time / etcdctl lock", own / other,
                 goal="<= 0.6")
    yield Figure("increments lost, zkflock", lost)
    yield Figure("increments lost, etcdctl lock", lost_too)


def free_commands(site: Site) -> tuple[list[str], list[str]]:
    name = site.fresh()
    own, other = (peer.argv(site, name, 1) + ["true"] for peer in (ZKFLOCK, ETCDCTL))
    return own, other


def free(site: Site) -> Iterator[Figure]:
    times = runs.pairs(site, *free_commands(site), ROUNDS)
    yield Figure("free lock, whole process / etcdctl lock", runs.ratio(times), goal="<= 0.27")
    for title, values in zip(("zkflock", "etcdctl lock"), zip(*times)):
        yield Figure(f"free lock, {title}", statistics.median(values) * 1000, "ms",
                     p90(values) * 1000)


def free_cold(site: Site) -> Iterator[Figure]:
    times = []
    for _ in range(3):
        with Site(site.build, site.file("cold")) as cold:
            times += runs.pairs(cold, *free_commands(cold), 20)
    yield Figure("free lock, server just started / etcdctl lock", runs.ratio(times), goal="<= 0.42")


def free_slow(site: Site) -> Iterator[Figure]:
    times = runs.pairs(site, *free_commands(site), ROUNDS // 2)
    for title, values, goal in zip(("zkflock", "etcdctl lock"), zip(*times), ("<= 3.3", "")):
        yield Figure(f"free lock with {SYNC_MS} ms a sync, {title}",
                     statistics.median(values) * 1000 / SYNC_MS, "syncs",
                     p90(values) * 1000 / SYNC_MS, goal)


def bare_command(site: Site, lock: str) -> list[str]:
    return [site.tool("bare"), site.zookeeper, lock]


def bare(site: Site) -> Iterator[Figure]:
    times = runs.pairs(site, free_commands(site)[0], bare_command(site, f"/{site.fresh()}"), ROUNDS)
    yield Figure("free lock, whole process / bare C client", runs.ratio(times), goal="<= 1.25")


def cpu(site: Site) -> Iterator[Figure]:
    own, other = (runs.cpu(site, argv, ROUNDS) for argv in free_commands(site))
    yield Figure("free lock, CPU / etcdctl lock", own / other, goal="<= 0.13")


def rate(site: Site) -> Iterator[Figure]:
    loops, locks = 16, 2000
    name = site.fresh()
    commands = [[site.zkflock, f"/{name}-{{}}", "true"], bare_command(site, f"/bare-{name}-{{}}")]
    for argv in commands:  # makes the locks
        runs.loop_time(site, loops, locks, argv)
    own, least = (runs.loop_time(site, loops, locks, argv) for argv in commands)
    yield Figure(f"locks a second, {loops} loops over {locks} locks / bare C client", least / own,
                 goal=">= 0.7")


def kill(site: Site) -> Iterator[Figure]:
    clean = statistics.median(handover.measure(site, [ZKFLOCK], 2)[ZKFLOCK.title])
    times = [runs.kill(site) / clean for _ in range(12)]
    yield Figure("kill -9 of a holder -> next start", statistics.median(times), "hand-overs",
                 p90(times), "<= 3")


def memory(site: Site) -> Iterator[Figure]:
    yield Figure("memory of a waiter, all processes (PSS)", runs.waiter_memory(site, 20), "MiB",
                 goal="<= 0.30")


def arrival(site: Site) -> Iterator[Figure]:
    queue = 10_000
    yield Figure(f"read on arriving at a queue of {queue}", runs.arrival(site, queue) / 1000, "kB")


@dataclass(frozen=True)
class Row:
    name: str
    place: str
    figures: Callable[[Site], Iterator[Figure]]


# Rows of the same place stand together: its servers run while they are measured.
PLACES = {"standalone": (1, 0), "slow": (1, SYNC_MS), "ensemble": (3, 0)}
ROWS = [
    Row("handover", "standalone", hand_over),
    Row("waiters", "standalone", waiters),
    Row("increments", "standalone", increments),
    Row("free", "standalone", free),
    Row("bare", "standalone", bare),
    Row("cpu", "standalone", cpu),
    Row("rate", "standalone", rate),
    Row("kill", "standalone", kill),
    Row("memory", "standalone", memory),
    Row("arrival", "standalone", arrival),
    Row("cold", "standalone", free_cold),
    Row("handover-slow", "slow", hand_over_slow),
    Row("free-slow", "slow", free_slow),
    Row("handover-ensemble", "ensemble", hand_over_ensemble),
]


def measure(build: str, work: str, names: list[str]) -> Iterator[tuple[str, Figure | Failure]]:
    """Goes on after a row that cannot be measured."""
    chosen = [row for row in ROWS if row.name in names]
    for place, rows in itertools.groupby(chosen, lambda row: row.place):
        servers, sync_ms = PLACES[place]
        with Site(build, os.path.join(work, place), servers, sync_ms) as site:
            site.warm_up()
            for row in rows:
                try:
                    for figure in row.figures(site):
                        yield row.name, figure
                except Failure as failure:
                    yield row.name, failure
