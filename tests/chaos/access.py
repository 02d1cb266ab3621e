"""Who may use a lock: the credentials of its contenders, the ACL that they ask for, and how many of them
come by TLS.

All contenders of a lock have the same credentials and ask for the same ACL, as each has to read the
znode of the one before.
"""
from __future__ import annotations

import dataclasses
import os
import random
import subprocess

from world import TESTS

USER, PASSWORD = "ann", "secret"
SUBJECT = "CN=client"  # of the client's certificate


@dataclasses.dataclass(frozen=True)
class Access:
    name: str
    tls: float  # the share of its contenders that come by TLS
    words: tuple[str, ...] = ()  # of zkflock's command line; {keys} is the directory of the keys
    scheme: str = "world"  # of the credentials
    readable: bool = True  # by clients without credentials
    writable: bool = False  # by them

    def draws_tls(self, rng: random.Random) -> bool:
        return rng.random() < self.tls

    def options(self, keys: str, tls: bool) -> list[str]:
        """Returns what a contender's command line has to say of it."""
        words = (*self.words, *(("--tls", "--cacert", "{keys}/ca.pem") if tls else ()))
        return [word.format(keys=keys) for word in words]


AUTH_FILE = ("--auth-file", "{keys}/password")
OPEN = Access("open", 0.1, writable=True)
CREATOR = Access("creator", 0.3, (*AUTH_FILE, "--acl", "creator"), "digest", readable=False)
CREATOR_READ = Access("creator-read", 0.3, (*AUTH_FILE, "--acl", "creator-read"), "digest")
# Where the credentials are a certificate, all contenders come by TLS.
CERTIFICATE = Access("creator, by certificate", 1.0,
                     ("--cert", "{keys}/client.both", "--acl", "creator"), "x509", readable=False)
# The locks are dealt these, again and again.
HAND = (OPEN, OPEN, OPEN, OPEN, OPEN, CREATOR, CREATOR, CREATOR_READ, CREATOR_READ, CERTIFICATE)


def hand(tls: bool) -> list[Access]:
    """Returns the same for servers with or without TLS."""
    if tls:
        return list(HAND)
    return [dataclasses.replace(CREATOR if one is CERTIFICATE else one, tls=0.0) for one in HAND]


def make_keys(directory: str, addresses: list[str]) -> None:
    """Makes certificates for servers with these addresses and for a client, and the file of a password.

    Their keys are of the kind that costs servers the least.
    """
    names = ",".join(f"IP:{address}" for address in [*addresses, "127.0.0.1"])
    script = f"""
        set -e; umask 077; mkdir "$KEYS"; source {TESTS}/suite/keys.bash
        authority ca; certificate server ca 30 "{names}"; certificate client ca 30 DNS:client
        echo "digest:{USER}:{PASSWORD}" >"$KEYS/password"
    """
    subprocess.run(["bash", "-c", script], check=True,
                   env={**os.environ, "KEYS": directory,
                        "KEY_KIND": "ec -pkeyopt ec_paramgen_curve:prime256v1"})
