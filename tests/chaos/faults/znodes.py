"""Faults 29 and 30: what others do to the lock's znodes."""
import time

import kinds
from stage import EXIT_LOST, FAREWELL, NotPlayed, Stage, scenario
from world import EXPIRY, until
from zookeeper import acl_of


@scenario(29, "the own znode is deleted by somebody", "M O K E L")
def own_deleted(stage: Stage) -> None:
    run = stage.hold(variants=stage.rng.choice([[], ["daemon"]]))
    time.sleep(stage.rng.uniform(0, 1))
    stage.zookeeper.delete(run.node())
    at = stage.struck()
    stage.dead_in_lease(run, at)
    stage.ends(run, EXIT_LOST, message="deleted")
    stage.taken_over("znode deleted", at, stage.vanished)


@scenario(29, "the parent is deleted and made again", "O K E L")
def parent_deleted(stage: Stage) -> None:
    """On a lock of its own: the record goes as well, and with it what kept the next one waiting."""
    lock = stage.private_lock(fragile=True)
    run = stage.hold(lock=lock)
    stage.zookeeper.delete(run.node())
    stage.zookeeper.delete(lock.path)
    at = stage.struck(lock)
    with stage.cluster.stage() as other:
        successor = stage.run(0.1, lock=lock, host=other)
        stage.dead_in_lease(run, at)
        stage.ends(run, EXIT_LOST)
        # Three times the default: what made the lock again may not have known of its lease.
        stage.survives(successor, 45 + stage.vanished)


@scenario(29, "a waiter's znode is deleted by somebody", "M L E")
def waiter_deleted(stage: Stage) -> None:
    lock = stage.private_lock()
    with stage.cluster.stage() as other:
        holder = stage.hold(4, lock=lock, host=other)
        run = stage.run(0.1, lock=lock)
        if until(lambda: len(stage.zookeeper.contenders(lock.path)) == 2, 10, 0.05):
            stage.zookeeper.delete(f"{lock.path}/{stage.zookeeper.contenders(lock.path)[1]}")
            stage.struck(lock)
        stage.survives(holder, FAREWELL + EXPIRY)
        stage.survives(run, 2 * stage.vanished)


@scenario(30, "strangers stand in the queue", "M L K")
def strangers(stage: Stage) -> None:
    """Contenders of other clients, and children that are no contenders."""
    lock = stage.lock
    if lock.kind is kinds.SEMAPHORE:
        raise NotPlayed("a semaphore has no queue of its own")
    rng = stage.rng
    mark = f"{rng.getrandbits(32):08x}"
    acl = acl_of(lock.access)
    stage.zookeeper.create(f"{lock.path}/{mark}-config", acl=acl)
    names = [rng.choice([f"{mark}{i}-", f"{mark}{i}-latch-", f"{mark}{i}__lock__", f"{mark}{i}"])
             for i in range(rng.randint(1, 3))]
    stage.struck()
    for name in names:
        stage.zookeeper.create(f"{lock.path}/{name}", sequence=True, ephemeral=True, acl=acl)
    run = stage.run(0.1)
    time.sleep(rng.uniform(0, 2))
    for name in rng.sample(names, len(names)):
        time.sleep(rng.uniform(0, 1))
        stage.zookeeper.delete_all(lock.path, name)
    stage.zookeeper.delete_all(lock.path, mark)
    # Each one that left uncounted costs a lease at most.
    stage.survives(run, 2 * stage.vanished + (len(names) + 1) * stage.lease)


@scenario(30, "readers and writers mixed, and one of them is cut off", "M O L K")
def readers_and_writers(stage: Stage) -> None:
    """On a lock of its own: the readers share it, the writer comes when both are gone."""
    lock = stage.private_lock(kind=kinds.SHARED)
    shared = {"manner": kinds.READER, "lock": lock}
    with stage.cluster.stage() as other, stage.cluster.stage() as third:
        run = stage.hold(**shared)
        reader = stage.hold(stage.lease, host=other, **shared)
        writer = stage.run(0.1, manner=kinds.WRITER, lock=lock, host=third)
        late = stage.run(0.1, host=other, **shared)
        with stage.network.cut(stage.host.name) as cut_at:
            stage.struck(lock)
            stage.dead_in_lease(run, cut_at)
        stage.lost(run)
        stage.survives(reader, stage.vanished)
        stage.survives(writer, stage.cut_off)
        stage.survives(late, stage.cut_off)
