"""Faults 1 to 3: the network between a client and all servers."""
import time

from stage import EXIT_LOST, Stage, scenario
from world import now


def variants(stage: Stage) -> list[str]:
    return stage.rng.choice([[], ["daemon"], ["deaf", "daemon"]])


def cut_until_dead(stage: Stage, how) -> None:
    run = stage.hold(variants=variants(stage))
    time.sleep(stage.rng.uniform(0, 1))
    with how as cut_at:
        stage.struck()
        stage.dead_in_lease(run, cut_at)
        # Sometimes it comes back before zkflock has ended.
        time.sleep(stage.rng.choice([0, 0.3, 3]))
    stage.lost(run)
    stage.taken_over("client cut off", cut_at, stage.cut_off)


@scenario(1, "client cut off from all servers", "M O E L")
def cut_off(stage: Stage) -> None:
    cut_until_dead(stage, stage.network.cut(stage.host.name))


@scenario(1, "client refused by the network with resets", "M O E L")
def refused(stage: Stage) -> None:
    cut_until_dead(stage, stage.network.refuse(stage.host.name))


@scenario(2, "client cut off for less than the lease", "M E")
def cut_off_shortly(stage: Stage) -> None:
    hold = stage.lease + 3
    run = stage.hold(hold)
    for _ in range(stage.rng.randint(1, 2)):
        time.sleep(stage.rng.uniform(0.2, 1))
        # A packet lost in a cut of a second comes again after 1.4 s, most of the slack there is.
        with stage.network.cut(stage.host.name):
            stage.struck()
            time.sleep(stage.rng.uniform(0.1, 1))
        time.sleep(1.5)
    stage.survives(run, hold + 20)


@scenario(3, "nothing reaches the client", "M O E L")
def deaf_client(stage: Stage) -> None:
    stage.dies_cut_off(variants(stage), stage.network.cut(stage.host.name, ("INPUT",)))


@scenario(3, "nothing leaves the client", "M O E L")
def mute_client(stage: Stage) -> None:
    stage.dies_cut_off(variants(stage), stage.network.cut(stage.host.name, ("OUTPUT",)))


@scenario(3, "a waiter is cut off and comes back", "M L")
def waiter_cut_off(stage: Stage) -> None:
    """Its place is gone or not; it starts under a proof or not at all."""
    run = stage.run(0.1)
    with stage.network.cut(stage.host.name):
        stage.struck()
        time.sleep(stage.rng.uniform(0.2, 8))
    stage.survives(run, 4 * stage.vanished, EXIT_LOST)
    stage.expect(run.begun() or stage.disturbed(), "L",
                 f"{run.who} never ran, {now() - run.started:.1f} s: {run.messages()}")
