"""Shows that the judge can see overlaps: of locks whose lease is not kept, and of etcdctl."""
import os
import shutil
import subprocess

import campaign
import judge
import report
from cluster import Cluster
from hosts import Host
from locks import Lock
from network import ADMIN
from stage import SCENARIOS
from world import until

# Faults that make a holder lose its lock while its command runs.
LOSSES = (1, 3, 17)
NO_LEASE = ("--on-lost", "warn", "--lock-delay", "0")

ROUNDS = 4
ETCD_TTL = 2
ETCD_PORT = 2379


def control(directory: str, build: str, seed: int, minutes: float) -> int:
    """The same campaign with the lease switched off has to find overlaps."""
    cluster = Cluster(directory, build, seed, NO_LEASE, control=True)
    for option in NO_LEASE[::2]:
        if option not in cluster.tools.help:
            print(f"chaos: control: this zkflock has no {option}")
            return 1
    crowd = campaign.campaign(cluster, minutes * 60,
                              [s for s in SCENARIOS if s.number in LOSSES])
    verdict = judge.judge(cluster)
    report.kinds(cluster, crowd)
    print(f"chaos: control, {' '.join(NO_LEASE)}: {verdict.turns} operations, "
          f"{len(cluster.book.faults)} faults, {verdict.overlaps} overlaps, "
          f"{verdict.lost_updates} lost updates, seed {seed}; "
          f"{len(crowd.operations())} of the operations by the crowd")
    if verdict.overlaps == 0:
        print("chaos: the judge sees nothing: no verdict of it can be trusted")
        return 1
    return 0


def etcd_lock(cluster: Cluster, host: Host, lock: Lock, who: str, hold_ms: int
              ) -> subprocess.Popen:
    return host.popen(
        ["etcdctl", "--endpoints", f"http://{ADMIN}:{ETCD_PORT}", "lock", "--ttl", str(ETCD_TTL),
         lock.name, cluster.tools.payload, lock.directory, who, str(hold_ms)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "ETCDCTL_API": "3"})


def etcd_round(cluster: Cluster, number: int) -> bool:
    """A holder is cut off, the other waits; whether they overlapped, then."""
    holder_host, waiter_host = cluster.stages[:2]
    lock = Lock(cluster.directory, f"etcd-{number}")
    holder = etcd_lock(cluster, holder_host, lock, "holder", 8000)
    assert until(lambda: lock.turn("holder"), 10), "etcdctl does not get its lock"
    waiter = etcd_lock(cluster, waiter_host, lock, "waiter", 200)
    with cluster.network.cut(holder_host.name):
        until(lambda: lock.turn("waiter"), 8)
    for process in (waiter, holder):
        process.wait(30)
    return bool(lock.overlaps())


def etcd(directory: str, build: str, seed: int) -> int:
    """Fault 1 against etcdctl lock, as a figure to compare with; it is no test of zkflock."""
    if not shutil.which("etcd") or not shutil.which("etcdctl"):
        print("chaos: etcd and etcdctl are missing")
        return 1
    cluster = Cluster(directory, build, seed)
    url = f"http://{ADMIN}:{ETCD_PORT}"
    subprocess.Popen(
        ["etcd", "--data-dir", f"{cluster.directory}/etcd", "--listen-client-urls", url,
         "--advertise-client-urls", url, "--listen-peer-urls", "http://127.0.0.1:2380"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    overlapped = sum(etcd_round(cluster, i) for i in range(ROUNDS))
    print(f"chaos: reference, etcdctl lock --ttl {ETCD_TTL} with its client cut off: overlaps in "
          f"{overlapped} of {ROUNDS} rounds")
    return 0
