"""Faults 4 to 10 and 31: servers that are cut off from each other, stopped, killed."""
import signal
import time

from pulse import Pulse
from servers import NAMES
from runs import Run
from stage import EXIT_LOST, EXIT_UNREACHABLE, NotPlayed, Stage, scenario
from world import EXPIRY, SESSION, SLACK, now, until

# After the leader has gone: the others notice, vote, and the clients find them.
ELECTION = 5.0
SYNC_LIMIT = 5.0
# Until a server that was cut off has stopped waiting and clients have found another.
FAR = 40.0
TERMINATED = 128 + signal.SIGTERM


def others(name: str) -> list[str]:
    return [other for other in NAMES if other != name]


def bridges(stage: Stage, run: Run, pulse: Pulse) -> None:
    """The command never notices, unless nothing was committed for longer than a lease bridges."""
    still = pulse.standstill()
    right = [0]
    # A holder that has no answer for 3.6 of 5 s ends its command; the last proof may be 0.8 s old.
    bridged = stage.lease / 2
    if still > bridged:
        right.append(EXIT_LOST)
        stage.servers.own_faults.append(
            f"{stage.played.name}: nothing was committed for {still:.1f} s, of which a lease of "
            f"{stage.lease:g} s bridges {bridged:g} s")
    stage.ends(run, *right, within=FAR)


def hold_at(stage: Stage, server: str) -> Run:
    """A holder that knows this server alone, and stays with it."""
    return stage.hold(servers=stage.servers.address(server))


def hold_at_follower(stage: Stage) -> tuple[Run, str]:
    """A holder that knows all servers, and a follower that serves it."""
    for _ in range(5):
        run = stage.hold()
        server = stage.servers.named(run.connected_to())
        if server and server in stage.servers.followers():
            return run, server
        run.signal(signal.SIGTERM)
        stage.ends(run, TERMINATED)
    raise NotPlayed("the leader serves everybody")


@scenario(4, "the holder's follower is cut off from the leader", "M E", on_ensemble=True)
def follower_cut_off(stage: Stage) -> None:
    """The follower goes on answering pings after the session has expired."""
    alone = stage.rng.random() < 0.6
    if alone:
        server = stage.rng.choice(stage.servers.followers())
        run = hold_at(stage, server)
    else:
        run, server = hold_at_follower(stage)
    with stage.book.disturbance():
        with stage.network.cut_between(server, others(server)) as cut_at:
            stage.struck()
            if alone:
                stage.dead_in_lease(run, cut_at)
            time.sleep(stage.rng.uniform(0, SESSION))
        stage.servers.await_healthy()
    run.signal(signal.SIGTERM)
    stage.ends(run, EXIT_LOST, TERMINATED, within=FAR)


@scenario(5, "the leader is isolated together with its client", "M E", on_ensemble=True)
def leader_isolated(stage: Stage) -> None:
    server = stage.servers.await_leader()
    run = hold_at(stage, server)
    with stage.book.disturbance():
        with stage.network.cut_between(server, others(server)) as cut_at:
            stage.struck()
            stage.dead_in_lease(run, cut_at)
            time.sleep(stage.rng.uniform(0, SESSION))
        stage.servers.await_healthy()
    stage.ends(run, EXIT_LOST, within=FAR)


def pause(stage: Stage, server: str, seconds: float) -> None:
    """A holder and the contenders live through it, or lose the lock and say so."""
    hold = seconds + 5
    run = stage.hold(hold)
    with stage.book.disturbance():
        stage.servers.pause(server)
        try:
            stage.struck()
            time.sleep(seconds)
        finally:
            stage.servers.resume(server)
        stage.servers.await_healthy()
    stage.ends(run, 0, EXIT_LOST, within=FAR)


@scenario(6, "the leader is stopped for less than a session", "M E", on_ensemble=True)
def leader_stopped_shortly(stage: Stage) -> None:
    pause(stage, stage.servers.await_leader(), stage.rng.uniform(0.5, SESSION - 1))


@scenario(6, "the leader is stopped for more than a session", "M E", on_ensemble=True)
def leader_stopped(stage: Stage) -> None:
    pause(stage, stage.servers.await_leader(), stage.rng.uniform(SESSION, SYNC_LIMIT))


@scenario(6, "the leader is stopped for more than syncLimit", "M E", on_ensemble=True)
def leader_stopped_long(stage: Stage) -> None:
    pause(stage, stage.servers.await_leader(), stage.rng.uniform(SYNC_LIMIT + 1, SYNC_LIMIT + 5))


@scenario(7, "a follower is stopped", "M E", on_ensemble=True)
def follower_stopped(stage: Stage) -> None:
    pause(stage, stage.rng.choice(stage.servers.followers()), stage.rng.uniform(1, 8))


@scenario(8, "the leader is killed", "M K L E", on_ensemble=True)
def leader_killed(stage: Stage) -> None:
    """A holder elsewhere survives; the others' locks are taken again after the election."""
    hold = ELECTION + 3
    leader = stage.servers.await_leader()
    run = stage.hold(hold)
    with stage.book.disturbance(), Pulse(stage.servers) as pulse:
        at = stage.struck()
        stage.servers.kill(leader)
        for lock in stage.cluster.busy_locks:
            if lock is not stage.lock:
                begin = lock.await_next(at, ELECTION + stage.vanished_on(lock))
                stage.expect(begin is not None, "L", f"nobody holds {lock.path} after an election",
                             lock)
                if begin:
                    with stage.book.guard:
                        stage.book.takeovers.append(("leader killed", begin - at))
        time.sleep(stage.rng.uniform(0, 2))
        stage.servers.launch(leader)
        stage.servers.await_healthy()
    bridges(stage, run, pulse)


@scenario(9, "the servers are restarted one by one", "M E", on_ensemble=True)
def rolling_restart(stage: Stage) -> None:
    run = stage.hold(25)
    with stage.book.disturbance(), Pulse(stage.servers) as pulse:
        stage.struck()
        for name in stage.rng.sample(NAMES, len(NAMES)):
            stage.servers.kill(name)
            stage.servers.launch(name)
            stage.servers.await_healthy()
    bridges(stage, run, pulse)


@scenario(10, "the quorum is lost and comes back", "M O E L", on_ensemble=True)
def quorum_lost(stage: Stage) -> None:
    run = stage.hold()
    dead = stage.rng.sample(NAMES, 2)
    with stage.book.disturbance():
        for name in dead:
            stage.servers.kill(name)
        at = stage.struck()
        stage.dead_in_lease(run, at)
        time.sleep(stage.rng.uniform(0, 3))
        back = now()
        begun = [turn for lock in stage.cluster.locks for turn in lock.turns
                 if at + stage.lease < turn.begin < back]
        for turn in begun:
            stage.violated("M", f"{turn.who} starts {turn.begin - at:.1f} s after the quorum was "
                                "lost")
        for name in dead:
            stage.servers.launch(name)
        stage.servers.await_healthy()
        healthy = now()
        for lock in stage.cluster.busy_locks:
            begin = lock.await_next(healthy, 2 * stage.vanished_on(lock) + 10)
            stage.expect(begin is not None, "L",
                         f"nobody holds {lock.path} after the quorum is back", lock)
    stage.ends(run, EXIT_LOST, within=FAR)


@scenario(31, "a waiter comes back to a follower that lags", "M L", on_ensemble=True)
def lagging_follower(stage: Stage) -> None:
    """Its session is over; the follower may still show the znode that it had."""
    server = stage.rng.choice(stage.servers.followers())
    leader = stage.servers.await_leader()
    holder_host_lock = stage.private_lock()
    with stage.cluster.stage() as other:
        holder = stage.hold(EXPIRY + 8, lock=holder_host_lock, host=other)
        run = stage.run(0.1, servers=stage.servers.address(server), lock=holder_host_lock)
        until(lambda: len(stage.zookeeper.contenders(holder_host_lock.path)) == 2, 10, 0.05)
        with stage.book.disturbance():
            with stage.network.cut_between(server, [leader], probability=0.6):
                stage.struck(holder_host_lock)
                run.signal(signal.SIGSTOP)
                time.sleep(EXPIRY + 1)
                run.signal(signal.SIGCONT)
                time.sleep(2)
            stage.servers.await_healthy()
        stage.ends(holder, 0, EXIT_LOST, within=FAR)
        stage.ends(run, 0, EXIT_UNREACHABLE, within=FAR + stage.vanished + SLACK)
