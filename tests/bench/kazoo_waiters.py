#!/usr/bin/python3
"""Many who run a command under kazoo's lock, each once, with a session and a thread of its own.

    kazoo_waiters.py SERVERS PATH COUNT COMMAND...

They share one process, so that many fit: each with an interpreter of its own would be slower.
"""
import logging
import subprocess
import sys
import threading
import warnings

warnings.filterwarnings("ignore")
logging.getLogger("kazoo").addHandler(logging.NullHandler())
import kazoo.client  # noqa: E402

SESSION_TIMEOUT = 15
servers, path, count, *command = sys.argv[1:]


def run_once():
    client = kazoo.client.KazooClient(hosts=servers, timeout=SESSION_TIMEOUT)
    client.start(SESSION_TIMEOUT)
    with client.Lock(path):
        subprocess.run(command, check=True)
    client.stop()


threads = [threading.Thread(target=run_once) for _ in range(int(count))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
