"""The cluster's network: a namespace for each machine, wired to one bridge in the run's own.

The run itself sits at the bridge and reaches every machine; its address is the administrator's.
"""
import contextlib
import subprocess
from typing import Iterator

from world import now

PREFIX = "10.99"
ADMIN = f"{PREFIX}.0.254"


def tool(*argv: str) -> None:
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)


def enter(namespace: str) -> list[str]:
    """The words before a command that is to run on that machine."""
    return ["nsenter", f"--net=/run/netns/{namespace}"]


class Network:
    def __init__(self, machines: dict[str, str]) -> None:
        """Makes the machines: name to address."""
        self.addresses = machines
        batch = ["link set lo up", "link add br0 type bridge", "link set br0 up",
                 f"addr add {ADMIN}/16 dev br0"]
        batch += [f"netns add {name}" for name in machines]
        for name, address in machines.items():
            batch += [f"link add veth-{name} type veth peer name eth0 netns {name}",
                      f"link set veth-{name} master br0 up"]
        subprocess.run(["ip", "-batch", "-"], input="\n".join(batch), text=True, check=True)
        for name, address in machines.items():
            inner = f"link set lo up\naddr add {address}/16 dev eth0\nlink set eth0 up\n"
            subprocess.run(["ip", "-n", name, "-batch", "-"], input=inner, text=True, check=True)

    def rule(self, act: str, machine: str, *rule: str) -> None:
        tool(*enter(machine), "iptables", "-w", act, *rule)

    @contextlib.contextmanager
    def rules(self, machine: str, *rules: tuple[str, ...]) -> Iterator[float]:
        """The rules stand while the body runs; yields the time from which all of them did."""
        made = []
        try:
            for rule in rules:
                self.rule("-I", machine, *rule)
                made.append(rule)
            yield now()
        finally:
            for rule in made:
                self.rule("-D", machine, *rule)

    def cut(self, machine: str, chains: tuple[str, ...] = ("INPUT", "OUTPUT")):
        """Silently drops everything to (INPUT) or from (OUTPUT) the machine."""
        flags = {"INPUT": "-i", "OUTPUT": "-o"}
        return self.rules(machine, *((chain, flags[chain], "eth0", "-j", "DROP")
                                     for chain in chains))

    def refuse(self, machine: str):
        """Every packet that the machine sends is answered with a reset, and none arrives."""
        return self.rules(
            machine, ("OUTPUT", "-o", "eth0", "-p", "tcp", "-j", "REJECT", "--reject-with",
                      "tcp-reset"), ("INPUT", "-i", "eth0", "-j", "DROP"))

    def cut_between(self, machine: str, others: list[str], probability: float = 1.0):
        """Packets between that machine and the others are lost, some or all."""
        rules = []
        for other in others:
            for chain, flag in (("INPUT", "-s"), ("OUTPUT", "-d")):
                rule = (chain, flag, self.addresses[other])
                if probability < 1:
                    rule += ("-m", "statistic", "--mode", "random", "--probability",
                             str(probability))
                rules.append(rule + ("-j", "DROP"))
        return self.rules(machine, *rules)
