"""A copy of the source to make mistakes in, and servers of its own to show them on."""
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
# Seconds without a result from a test: it hangs, so it has noticed the mistake.
PATIENCE = 120


class Lane:
    def __init__(self, directory, build):
        self.root = directory / "root"
        self.suite_dir = directory / "suite"
        self.suite_dir.mkdir(parents=True)
        os.mkfifo(self.suite_dir / "pause")  # see pause() in helper.bash
        # Copies the tests, too: a test that is edited meanwhile would notice every mistake.
        shutil.copytree(PROJECT, self.root, ignore=shutil.ignore_patterns(".git", "build"))
        self.build_dir = self.root / "build"
        # Not what other targets have built there; a Debian has some GB.
        others = ("lint-*", "asan", "coverage", "deb", "debian", "fuzz", "sanitize", "tsan")
        shutil.copytree(build, self.build_dir, ignore=shutil.ignore_patterns(*others))
        self.env = dict(os.environ, SUITE_DIR=str(self.suite_dir), ZKFLOCK_BUILD=str(self.build_dir))
        self.sound = build.resolve() / "zkflock"  # without a mistake
        self.start_servers()

    # ---- servers ----

    def ensemble(self, *args):
        subprocess.run([self.root / "tests/ensemble", *args], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def start_servers(self):
        for name in ("one", "three"):
            shutil.rmtree(self.suite_dir / name, ignore_errors=True)
        self.ensemble("start", str(self.suite_dir / "one"))
        self.warm_up((self.suite_dir / "one" / "servers").read_text().strip())

    def warm_up(self, servers):
        """A server that has just started is slow, and a test that measures time would fail for that."""
        for _ in range(20):
            began = time.monotonic()
            subprocess.run([self.sound, "-z", servers, "/warm", "true"], check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if time.monotonic() < began + 0.3:
                break

    def ours(self):
        """The processes with this lane's environment, without its servers."""
        mark = f"SUITE_DIR={self.suite_dir}".encode()
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    yield int(process.name)
            except OSError:
                pass

    def clean_up(self):
        """After a test that failed, or was cut short."""
        for _ in range(50):
            pids = list(self.ours())
            if not pids:
                break
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            time.sleep(0.1)
        self.end()
        self.start_servers()

    def end(self):
        for name in ("one", "three"):
            self.ensemble("stop", str(self.suite_dir / name))

    # ---- one mistake ----

    def make(self):
        """Whether it compiles."""
        return subprocess.run(["make", "-s", "-C", self.root, "all", "build/unit"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def unit_notices(self):
        try:
            return subprocess.run([self.build_dir / "unit"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, timeout=60).returncode != 0
        except subprocess.TimeoutExpired:
            return True

    def suite_notices(self, suite, test=None):
        """Returns the first test that fails, of the suite or of this test alone; None: all pass."""
        command = ["env", "--default-signal", "bats", "--tap"]
        if test:
            command += ["-f", "^" + re.sub(r"([\\.\[\]{}()*+?^$|])", r"\\\1", test) + "$"]
        bats = subprocess.Popen([*command, str(self.root / "tests" / "suite" / f"{suite}.bats")], env=self.env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, start_new_session=True)
        failed = None
        rest = b""
        while failed is None:
            if not select.select([bats.stdout], [], [], PATIENCE)[0]:
                failed = self.running() or test or "the first test"
                break
            data = os.read(bats.stdout.fileno(), 65536)
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                match = re.match(r"not ok \d+ (.*)", line.decode(errors="replace"))
                if match:
                    failed = failed or match.group(1)
        if failed is not None:
            self.clean_up()
        bats.stdout.close()
        bats.wait()
        return failed

    def running(self):
        """The name of the test that runs, as the helpers write it down."""
        try:
            return (self.suite_dir / "running").read_text().split(" ", 2)[2].strip()
        except (OSError, IndexError):
            return None
