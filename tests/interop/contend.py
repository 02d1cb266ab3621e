#!/usr/bin/python3
"""Locks of Python clients that contend on one path; tests/interop/contest starts it and says how
the parts meet.

    contend.py SERVERS PATH ROUNDS DIR KIND...

Each KIND is one client with a session and a thread of its own: kazoo-lock, kazoo-lock:PATTERN, which
waits for names of that pattern too, kazoo-write, kazoo-read, kazoo-semaphore:N,
whole-names:PREFIX, a home-made recipe that sorts whole names, or zkcli:PREFIX, somebody who types
"create -s -e PATH/PREFIX" into zkCli.sh and looks whether it is the first.
"""
import collections
import logging
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import warnings

warnings.filterwarnings("ignore")
logging.getLogger("kazoo").addHandler(logging.NullHandler())
import kazoo.client  # noqa: E402
import kazoo.exceptions  # noqa: E402

DEADLINE = 60
ZKCLI = "/usr/share/zookeeper/bin/zkCli.sh"


class Judge:
    """What shows whether the locks exclude each other; the same in Contend.java and contest."""

    def __init__(self, directory):
        self.dir = pathlib.Path(directory)
        self.counter = self.dir / "counter"

    def increment(self):
        before = self.number()
        time.sleep(0.001)
        # Written over, not anew: whoever reads meanwhile finds a number.
        with open(self.counter, "r+") as f:
            f.write(f"{before + 1}\n")

    def read_twice(self):
        before = self.number()
        time.sleep(0.001)
        if before != self.number():
            self.violation("the number changed under a reader")

    def number(self):
        with open(self.counter) as f:
            return int(f.readline())

    def be_one_of(self, permits):
        own = self.dir / "holders" / f"python{threading.get_ident()}"
        own.touch()
        time.sleep(0.001)
        count = len(os.listdir(self.dir / "holders"))
        if count > permits:
            self.violation(f"{count} holders at once")
        own.unlink()

    def violation(self, what):
        with open(self.dir / "violations", "a") as f:
            f.write(what + "\n")


class WholeNames:
    """The recipe as many wrote it themselves: sort the names, wait for the one before."""

    def __init__(self, client, path, prefix):
        self.client = client
        self.path = path
        self.prefix = prefix
        self.own = None

    def acquire(self):
        self.client.ensure_path(self.path)
        full = self.client.create(f"{self.path}/{self.prefix}", ephemeral=True, sequence=True)
        self.own = full.rpartition("/")[2]
        while True:
            names = sorted(self.client.get_children(self.path))
            place = names.index(self.own)
            if place == 0:
                return
            gone = threading.Event()
            if self.client.exists(f"{self.path}/{names[place - 1]}", lambda event: gone.set()):
                gone.wait()

    def release(self):
        self.client.delete(f"{self.path}/{self.own}")


class Typist:
    """A person at zkCli.sh."""

    def __init__(self, servers, path, prefix):
        self.path = path
        self.prefix = prefix
        self.own = None
        self.shell = subprocess.Popen(
            [ZKCLI, "-server", servers], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.order(f"create {path}", "(Created|Node already exists:) ")

    def order(self, order, reply):
        """Types a line and returns what stands in the group of the line that answers it."""
        self.shell.stdin.write(order + "\n")
        self.shell.stdin.flush()
        for line in self.shell.stdout:
            match = re.search(reply, line)
            if match:
                return match.group(1)
        raise EOFError(f"zkCli.sh has ended at: {order}")

    def acquire(self):
        full = self.order(f"create -s -e {self.path}/{self.prefix}", r"Created (\S+)")
        self.own = full.rpartition("/")[2]
        while self.own != min(self.names(), key=lambda name: name[-10:]):
            time.sleep(0.002)

    def names(self):
        return self.order(f"ls {self.path}", r"\[([^][:]*)\]$").split(", ")

    def release(self):
        # It says nothing; what is typed next comes behind it.
        self.order(f"delete {self.path}/{self.own}\nls {self.path}", r"\[([^][:]*)\]$")

    def stop(self):
        self.shell.communicate("quit\n")


class PatientReader:
    """kazoo's ReadLock, asked again and again.

    Up to kazoo 2.8 it waits for writers that came later too, which wait for it: the one way out is
    to give up the place for a moment (kazoo issue 649).
    """

    def __init__(self, lock):
        self.lock = lock

    def acquire(self):
        while True:
            try:
                if self.lock.acquire(timeout=0.05):
                    return
            except kazoo.exceptions.LockTimeout:
                pass
            # The lock must not take the znode of its last try for that of the next.
            self.lock.create_tried = False

    def release(self):
        self.lock.release()


def connect(servers, path, kind, judge):
    """The lock, what to do under it, and how to end the session."""
    name, _, argument = kind.partition(":")
    if name == "zkcli":
        typist = Typist(servers, path, argument)
        return typist, judge.increment, typist.stop
    client = kazoo.client.KazooClient(hosts=servers, timeout=15)
    client.start(20)
    return *lock_and_deed(client, path, name, argument, judge), client.stop


def lock_and_deed(client, path, name, argument, judge):
    if name == "kazoo-lock":
        known = (argument,) if argument else ()
        return client.Lock(path, extra_lock_patterns=known), judge.increment
    if name == "kazoo-write":
        return client.WriteLock(path), judge.increment
    if name == "kazoo-read":
        return PatientReader(client.ReadLock(path)), judge.read_twice
    if name == "kazoo-semaphore":
        permits = int(argument)
        return client.Semaphore(path, max_leases=permits), lambda: judge.be_one_of(permits)
    if name == "whole-names":
        return WholeNames(client, path, argument), judge.increment
    raise ValueError(f"no such kind: {name}")


def main():
    servers, path, rounds, directory, *kinds = sys.argv[1:]
    judge = Judge(directory)
    deadline = time.monotonic() + DEADLINE
    ready = threading.Semaphore(0)
    go = threading.Event()
    done = collections.Counter()

    def contend(kind):
        try:
            contend_for(kind)
        finally:
            ready.release()

    def contend_for(kind):
        lock, deed, stop = connect(servers, path, kind, judge)
        for n in range(int(rounds)):
            lock.acquire()
            deed()
            lock.release()
            done[kind] += 1
            if n == 0:
                ready.release()
                go.wait()
        stop()

    threads = [threading.Thread(target=contend, args=(kind,), daemon=True) for kind in kinds]
    for thread in threads:
        thread.start()
    stuck = not all(ready.acquire(timeout=DEADLINE) for _ in threads)
    print("ready", flush=True)
    while not stuck and not (judge.dir / "go").exists():
        stuck = time.monotonic() > deadline
        time.sleep(0.005)
    go.set()
    for thread in threads:
        thread.join(max(0.001, deadline - time.monotonic()))
    stuck = stuck or any(done[kind] < int(rounds) * kinds.count(kind) for kind in kinds)
    print("stuck" if stuck else "done", *(f"{kind}={done[kind]}" for kind in sorted(set(kinds))),
          flush=True)
    # Not in vain: sessions of those that are stuck end with the process.
    os._exit(1 if stuck else 0)


main()
