"""The scenarios, each family in a module; importing them enters them into stage.SCENARIOS."""
from faults import commands, corners, ensemble, machine, network, processes, wire, znodes

__all__ = ["commands", "corners", "ensemble", "machine", "network", "processes", "wire", "znodes"]
