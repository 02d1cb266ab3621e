"""What all parts of the campaign agree on: times, places, and how to wait."""
import os
import time
from typing import Callable, TypeVar

SESSION = 4.0  # seconds; what clients ask for
TICK = 0.5
CONNECT = 60.0  # how long clients try to connect, and then to join
DEFAULT_LEASE = 15.0  # zkflock's own
# The longest lease that contenders ask for, which bounds the wait for a vanished holder.
LONGEST_LEASE = 25.0
# An expiry is decided at the tick after the session's end, by a leader that has its own work.
EXPIRY = SESSION + 2 * TICK
# How much a machine with few processors may add to any time.
SLACK = 3.0

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)

T = TypeVar("T")


def now() -> float:
    """Returns seconds of CLOCK_BOOTTIME, which zkflock and the payload use."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def until(check: Callable[[], T], seconds: float, pause: float = 0.01) -> T:
    """The first true result of check() within the time, else its last."""
    deadline = now() + seconds
    while True:
        result = check()
        if result or now() > deadline:
            return result
        time.sleep(pause)


def read(path: str) -> str:
    with open(path, errors="replace") as file:
        return file.read()


def write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
