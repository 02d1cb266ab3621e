"""Faults drawn at random, several at a time, against a crowd of contenders."""
import random
import threading
import time
import traceback
from typing import Iterator

import faults
from cluster import Cluster
from contenders import Crowd
from stage import SCENARIOS, NotPlayed, Scenario, Stage
from locks import Lock
from outsider import Outsider
from replicas import Replicas
from world import now


# Lanes for scenarios with a cast of their own, which take long and mostly wait.
CORNER_LANES = 5

assert faults.__all__  # importing them has entered the scenarios


def deck(rng: random.Random, scenarios: list[Scenario]) -> Iterator[Scenario]:
    """All of them in random order, again and again: a short campaign leaves none out by chance."""
    while True:
        yield from rng.sample(scenarios, len(scenarios))


def play(cluster: Cluster, scenario: Scenario, lock: Lock, rng: random.Random) -> None:
    with cluster.stage() as host:
        stage = Stage(cluster, host, lock, rng, scenario)
        outcome = "played"
        try:
            scenario.play(stage)
        except NotPlayed as reason:
            outcome = f"not played: {reason}"
            cluster.book.not_played.append((scenario.number, scenario.name, str(reason)))
        except Exception:  # the harness itself failed: that is no pass
            traceback.print_exc()
            cluster.book.violation("harness", f"{scenario.number} {scenario.name} broke off")
            outcome = "broke off"
    print(f"  {now() - cluster.started:6.1f} s  {scenario.number:2} {scenario.name}: {outcome}, "
          f"{stage.kind()}, "
          f"{now() - stage.since:.1f} s", flush=True)


def outsider(cluster: Cluster) -> Outsider:
    return Outsider(cluster.servers.list, cluster.zookeeper, cluster.locks, cluster.book)


class Lane(threading.Thread):
    """Plays one scenario after the other, on locks of its own or, for the ensemble, on any."""

    def __init__(self, cluster: Cluster, name: str, scenarios: Iterator[Scenario],
                 locks: list[Lock], until: float) -> None:
        super().__init__(daemon=True)
        self.cluster = cluster
        self.rng = random.Random(f"{cluster.seed}/{name}")
        self.scenarios = scenarios
        self.locks = locks
        self.until = until

    def run(self) -> None:
        while True:
            time.sleep(self.rng.uniform(0, 2))
            scenario = next(self.scenarios)
            lock = self.rng.choice(self.locks)
            # Drawn before the scenario starts, so that timing does not change the draw.
            rng = random.Random(self.rng.random())
            if now() > self.until:
                return
            try:
                play(self.cluster, scenario, lock, rng)
            except Exception:  # its machine did not come to rest
                traceback.print_exc()
                self.cluster.book.violation("harness", f"the machine of {scenario.name} broke off")


def dealt(rng: random.Random, scenarios: list[Scenario], lane: int, lanes: int
          ) -> Iterator[Scenario]:
    """Every lane gets each lanes-th card of one deck."""
    for i, scenario in enumerate(deck(rng, scenarios)):
        if i % lanes == lane:
            yield scenario


def campaign(cluster: Cluster, seconds: float, scenarios: list[Scenario]) -> Crowd:
    """Plays until the time is up, then lets everything come to its end."""
    cluster.started = now()
    until = cluster.started + seconds
    crowd = Crowd(cluster)
    clients = [s for s in scenarios if not s.on_ensemble and not s.corner]
    corners = [s for s in scenarios if s.corner]
    ensemble = [s for s in scenarios if s.on_ensemble]
    lanes = []
    for i, row in enumerate(cluster.rows):
        if clients:
            cards = dealt(random.Random(f"{cluster.seed}/deck"), clients, i, len(cluster.rows))
            lanes.append(Lane(cluster, f"lane {i}", cards, row, until))
    for i in range(CORNER_LANES if corners else 0):
        cards = dealt(random.Random(f"{cluster.seed}/corners"), corners, i, CORNER_LANES)
        lanes.append(Lane(cluster, f"corner {i}", cards, cluster.struck_locks[:1], until))
    if ensemble:
        cards = deck(random.Random(f"{cluster.seed}/ensemble"), ensemble)
        lanes.append(Lane(cluster, "ensemble", cards, cluster.struck_locks, until))
    owners = {queue: lock for lock in cluster.locks for queue in lock.queues()}
    with Replicas(cluster.servers, owners, cluster.book.note_parted), outsider(cluster):
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
        crowd.disperse()
    return crowd


def one_by_one(cluster: Cluster, scenarios: list[Scenario], kind: str) -> Crowd:
    """The same crowd, and one fault after the other, on locks of that kind or, if empty, of any."""
    cluster.started = now()
    locks = [lock for lock in cluster.struck_locks
             if kind in lock.kind.name or kind == lock.access.name]
    if not locks:
        raise SystemExit(f"chaos: no lock that is struck is of this kind: {kind}")
    crowd = Crowd(cluster)
    rng = random.Random(cluster.seed)
    with outsider(cluster):
        for scenario in scenarios:
            play(cluster, scenario, rng.choice(locks), random.Random(rng.random()))
        crowd.disperse()
    return crowd


def matches(scenario: Scenario, words: list[str]) -> bool:
    """By number, or by a part of the name."""
    return any(str(scenario.number) == word if word.isdigit() else word in scenario.name
               for word in words)


def selected(words: list[str]) -> list[Scenario]:
    chosen = [scenario for scenario in SCENARIOS if matches(scenario, words)]
    if not chosen:
        raise SystemExit(f"chaos: no such fault: {' '.join(words)}")
    return chosen
