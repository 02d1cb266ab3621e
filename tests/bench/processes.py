"""The processes of the bench.  Each has a session of its own, without a terminal, and ends with it."""
import os
import signal
import subprocess
import sys
import tempfile
import time

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
END_SECONDS = 15
NOWHERE = subprocess.DEVNULL


class Failure(Exception):
    """A run that had to succeed did not."""


_started: list[subprocess.Popen] = []


def start(argv: list[str], **options) -> subprocess.Popen:
    process = subprocess.Popen(
        argv, start_new_session=True,
        **{"stdin": NOWHERE, "stdout": NOWHERE, "stderr": NOWHERE, **options})
    _started.append(process)
    return process


def finish(process: subprocess.Popen, given: bytes | None = None) -> bytes:
    """Waits for it; returns what it printed."""
    printed, _ = process.communicate(given)
    if process.returncode:
        raise Failure(f"{process.args[0]} failed with status {process.returncode}")
    return printed


def run(argv: list[str], **options) -> bytes:
    return finish(start(argv, stdout=subprocess.PIPE, **options))


def loops(count: int, runs: int, argv: list[str], **options) -> None:
    """Runs argv so many times in count loops at once; {} in it is the number of the run."""
    numbers = "".join(f"{number}\n" for number in range(runs)).encode()
    with tempfile.TemporaryFile() as errors:
        try:
            finish(start(["xargs", "-P", str(count), "-I{}", *argv], stdin=subprocess.PIPE,
                         stderr=errors, **options), numbers)
        except Failure as failure:
            errors.seek(0)
            raise Failure(f"{argv[0]}: {errors.readline().decode().rstrip()}") from failure


def end(processes: list[subprocess.Popen], number: int = signal.SIGTERM) -> None:
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, number)
    for process in processes:
        process.wait()


def exit_on_signals() -> None:
    """Lets the end of the bench clean up."""
    for number in SIGNALS:
        signal.signal(number, lambda number, _: sys.exit(128 + number))


def end_all() -> None:
    """Ends what has been started, all at once; by force what does not end in time."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    deadline = time.monotonic() + END_SECONDS
    left = [process for process in _started if process.poll() is None]
    for process in left:
        os.killpg(process.pid, signal.SIGTERM)
    while time.monotonic() < deadline and any(process.poll() is None for process in left):
        time.sleep(0.05)
    end(left, signal.SIGKILL)


def available_mib() -> float:
    """Memory that processes could still have."""
    with open("/proc/meminfo") as f:
        return next(int(line.split()[1]) / 1024 for line in f if line.startswith("MemAvailable:"))
