"""What the administrator does and reads, through kazoo, without zkflock."""
from __future__ import annotations

import base64
import contextlib
import hashlib
import logging
import re
import warnings
from typing import TYPE_CHECKING, Optional

from access import PASSWORD, SUBJECT, USER

warnings.filterwarnings("ignore")
logging.getLogger("kazoo").addHandler(logging.NullHandler())
import kazoo.client  # noqa: E402
import kazoo.exceptions  # noqa: E402
import kazoo.handlers.threading  # noqa: E402
import kazoo.retry  # noqa: E402
import kazoo.security  # noqa: E402

if TYPE_CHECKING:
    from access import Access

NoAuth = kazoo.exceptions.NoAuthError
BadVersion = kazoo.exceptions.BadVersionError
NoNode = kazoo.exceptions.NoNodeError
NodeExists = kazoo.exceptions.NodeExistsError
AWAY = (kazoo.exceptions.KazooException, kazoo.handlers.threading.KazooTimeoutError, OSError)

# Who may do everything, whatever an ACL says.
SUPER = "super:super"
ROOT = "/chaos"  # the locks stand below it


def digest(credentials: str) -> str:
    """Returns USER:HASH of USER:PASSWORD."""
    hashed = base64.b64encode(hashlib.sha1(credentials.encode()).digest()).decode()
    return f"{credentials.split(':')[0]}:{hashed}"


IDS = {"world": "anyone", "digest": digest(f"{USER}:{PASSWORD}"), "x509": SUBJECT}


def acl_of(access: Access, writable: bool = True) -> list[kazoo.security.ACL]:
    """Returns the ACL of a lock for these contenders, with all rights or without WRITE and ADMIN."""
    acl = [kazoo.security.make_acl(access.scheme, IDS[access.scheme], read=True, create=True,
                                   delete=True, write=writable, admin=writable)]
    if access.readable and not access.writable:
        acl.append(kazoo.security.make_acl("world", "anyone", read=True))
    return acl


def client(servers: str, **options) -> kazoo.client.KazooClient:
    """Returns a client that tries for ever, to be started."""
    patient = kazoo.retry.KazooRetry(max_tries=-1, delay=0.1, backoff=1, max_delay=0.3)
    return kazoo.client.KazooClient(hosts=servers, timeout=10, connection_retry=patient,
                                    command_retry=patient, **options)


def shown_by(server: str, paths: list[str], patience: float = 30) -> dict[str, list[str]]:
    """Returns the children of these znodes as one server shows them, after all that was committed before."""
    reader = kazoo.client.KazooClient(hosts=server, timeout=10, auth_data=[("digest", SUPER)])
    shown = {}
    try:
        reader.start(patience)
        for path in paths:
            with contextlib.suppress(NoNode):
                reader.sync_async(path).get(timeout=patience)
                shown[path] = sorted(reader.get_children_async(path).get(timeout=patience))
    finally:
        reader.stop()
        reader.close()
    return shown


def commits(servers: str, seconds: float) -> bool:
    """Returns true if a session can be made, which takes a write, within the time."""
    writer = kazoo.client.KazooClient(hosts=servers, timeout=10)
    try:
        writer.start(seconds)
        return True
    except kazoo.handlers.threading.KazooTimeoutError:
        return False
    finally:
        writer.stop()
        writer.close()


class Administrator:
    def __init__(self, servers: str) -> None:
        self.client = client(servers, auth_data=[("digest", SUPER)])
        self.client.start(60)
        self.create(ROOT)

    def make(self, path: str, data: str, acl: list[kazoo.security.ACL]) -> None:
        """Makes a znode of a lock."""
        with contextlib.suppress(NodeExists):  # a retry whose first attempt got through
            self.client.retry(self.client.create, path, data.encode(), acl)

    def recorded_lease(self, path: str) -> Optional[float]:
        """Returns the lease in seconds; None: the znode has no record, or does not exist."""
        try:
            data, _ = self.client.retry(self.client.get, path)
        except NoNode:
            return None
        found = re.fullmatch(r"zkflock/1 .*lease=(\d+)ms.*", data.decode(errors="replace").strip())
        return int(found[1]) / 1000 if found else None

    def contenders(self, path: str) -> list[str]:
        try:
            children = self.client.retry(self.client.get_children, path)
        except NoNode:
            return []
        return sorted((c for c in children if c[-10:].isdigit()), key=lambda name: name[-10:])

    def delete(self, path: str) -> None:
        with contextlib.suppress(NoNode):  # a retry as above, or its owner was faster
            self.client.retry(self.client.delete, path)

    def create(self, path: str, **options) -> None:
        with contextlib.suppress(NodeExists):
            self.client.retry(self.client.create, path, b"", **options)

    def delete_all(self, parent: str, prefix: str) -> None:
        """Deletes all of them: a create that was retried may have made two."""
        for child in self.client.retry(self.client.get_children, parent):
            if child.startswith(prefix):
                self.delete(f"{parent}/{child}")


def record(lease: float, permits: int = 0) -> str:
    """Returns what zkflock writes into a lock's znode."""
    of_permits = f" permits={permits}" if permits else ""
    return f"zkflock/1 base=0 lease={int(lease * 1000)}ms{of_permits}\n"
