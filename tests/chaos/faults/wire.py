"""Faults 11 to 14: a wire that loses, breaks, delays and stalls at a message of one's choice."""
import contextlib
import os
import select
import subprocess
from typing import Iterator

from servers import NAMES
from stage import EXIT_LOST, EXIT_UNREACHABLE, FAREWELL, Stage, scenario
from world import CONNECT, SESSION, TESTS, until

# The handshake is the first message in each direction; create, read or list, proofs follow.
LAST_MESSAGE = 12
# More messages than any kind of lock needs.
NO_MESSAGE = 40


class Wire:
    """A proxy on the client's machine, to one server; if the client comes by TLS, the proxy does."""

    def __init__(self, stage: Stage, kind: str, where: str, operation: str) -> None:
        """operation: if not empty, where counts only requests of that kind."""
        server = stage.servers.address(stage.rng.choice(NAMES))
        self.tls = stage.access.draws_tls(stage.rng)
        environ = {"PROXY_OF": operation} if operation else {}
        if self.tls:
            keys = stage.servers.keys
            server = stage.servers.secure[server]
            environ |= {"PROXY_TLS": f"{keys}/server.both",
                        "PROXY_TO_TLS": f"{keys}/ca.pem {keys}/client.both"}
        self.process = stage.host.popen(
            ["/usr/bin/python3", f"{TESTS}/tools/proxy", server, kind, where],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, **environ})
        self.servers = "127.0.0.1:" + self.process.stdout.readline().strip()

    def way(self) -> dict:
        """Returns what a run has to be told to go this way."""
        return {"servers": self.servers, "tls": self.tls}

    def cut(self, seconds: float = 0.1) -> bool:
        """True if the message came, and the proxy struck it."""
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        return bool(ready) and self.process.stdout.readline().strip() == "cut"

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def wire(stage: Stage, kind: str, where: object, operation: str = "") -> Iterator[Wire]:
    made = Wire(stage, kind, str(where), operation)
    try:
        yield made
    finally:
        made.close()


@scenario(11, "the reply to the create is lost", "M L E")
def create_reply_lost(stage: Stage) -> None:
    """zkflock finds its znode again instead of making a second one: alone in its lock it runs at once."""
    lock = stage.private_lock(kind=stage.lock.kind)
    with wire(stage, "reply", 1, "create") as broken:
        run = stage.run(0.1, lock=lock, **broken.way())
        stage.struck(lock)
        stage.survives(run, FAREWELL + stage.vanished)
        stage.expect(broken.cut(), "harness", "the reply was not cut")
    gone = until(lambda: not stage.left_in(lock), 1, 0.05)
    stage.expect(gone or stage.disturbed(), "L", f"a ghost is left: {stage.left_in(lock)}")


@scenario(12, "the connection breaks at a message", "M L E")
def broken_at_message(stage: Stage) -> None:
    """Any message, in the queue of a contended lock and while the command runs."""
    kind = stage.rng.choice(["request", "reply"])
    number = stage.rng.randint(1, LAST_MESSAGE)
    with wire(stage, kind, number) as broken:
        run = stage.run(stage.rng.choice([0.1, stage.lease]), **broken.way())
        stage.struck()
        status = run.status(4 * stage.vanished)
        # A server that is down cannot be gone around: the wire leads to it alone.
        stage.expect(status == 0 or stage.disturbed(), "E", f"{run.who} ends with {status}, broken "
                     f"at {kind} {number}: {run.messages()}")


@scenario(12, "the connection breaks at each message in turn", "M L E")
def broken_at_each_message(stage: Stage) -> None:
    """On a lock of its own, where the count of messages is that of the protocol."""
    lock = stage.private_lock(kind=stage.lock.kind)
    for kind in ("request", "reply"):
        for number in range(1, NO_MESSAGE):
            with wire(stage, kind, number) as broken:
                run = stage.run(0.02, lock=lock, **broken.way())
                stage.struck(lock)
                status = run.status(2 * stage.vanished)
                stage.expect(status == 0 or stage.disturbed(), "E", f"{run.who} ends with {status},"
                             f" broken at {kind} {number}: {run.messages()}")
                if status is None:
                    return
                if not broken.cut():
                    break


@scenario(13, "replies come late, after the lease", "M O E")
def late_replies(stage: Stage) -> None:
    """The session is long, so that the connection is not given up: late answers do arrive.

    On a lock of its own, where the fifth reply is that of a proof; with credentials there is one about
    the lock's ACL before it, and with a password the one to that.
    """
    lock = stage.private_lock()
    late = stage.rng.choice([8, 8, 12, 30])
    session = 1.5 * late + 5
    number = stage.rng.randint(5, 8) + {"world": 0, "x509": 1, "digest": 2}[stage.access.scheme]
    with wire(stage, "late", f"{number}:{late}") as slow, stage.cluster.stage() as other:
        run = stage.hold(session=session, lock=lock, **slow.way())
        successor = stage.run(0.1, lock=lock, host=other)
        stage.expect(slow.cut(20) or stage.disturbed(), "harness", "no reply was delayed")
        # The reply was that of a proof that had been sent before.
        at = stage.struck(lock)
        stage.dead_in_lease(run, at)
        stage.ends(run, EXIT_LOST, within=FAREWELL + late)
        # Every new leader gives the session its whole time once more, which may go on for ever.
        stage.zookeeper.delete(run.node())
        stage.survives(successor, stage.vanished)


def silent(stage: Stage, kind: str) -> None:
    number = stage.rng.randint(6, 12)
    with wire(stage, kind, number) as dead:
        hold = stage.lease + 2
        run = stage.hold(hold, **dead.way())
        if dead.cut(hold):
            stage.struck()
        # The connection is given up and made again through the same wire: in time, or not.
        stage.ends(run, 0, EXIT_LOST, within=FAREWELL + hold)


@scenario(14, "the connection stalls", "M O E")
def stalled(stage: Stage) -> None:
    silent(stage, "stall")


@scenario(14, "half a frame, then nothing", "M O E")
def half_a_frame(stage: Stage) -> None:
    silent(stage, "half")


@scenario(14, "replies trickle", "M E")
def trickle(stage: Stage) -> None:
    """A reply takes a second or two: proofs come late, or never in time.

    If each answer takes longer than zkflock bears, it gives up only when it may not join any longer.
    """
    lock = stage.private_lock()
    within = 2 * CONNECT + 8 * stage.vanished
    per_byte = stage.rng.uniform(0.001, 0.06)
    with wire(stage, "slow", f"4:{per_byte:.4f}") as slow:
        run = stage.run(stage.lease, session=5 * SESSION, lock=lock, **slow.way())
        stage.struck(lock)
        stage.ends(run, 0, EXIT_LOST, EXIT_UNREACHABLE, within=within)
